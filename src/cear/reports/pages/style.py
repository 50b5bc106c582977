"""Colours and rules of pages and drawings. No character of them needs an escape, neither in HTML nor in XML."""

from __future__ import annotations

SERIES = 6  # colours, each at least 3:1 against its paper; marks of other shapes tell series apart without them

_LIGHT = """\
--paper: #ffffff; --ink: #1c2026; --soft: #5a626d; --line: #d5d9df; --tint: #f1f5fa; --link: #0b5cad; --heat: #4a9fd8;
--s0: #0072b2; --s1: #c2500a; --s2: #00805c; --s3: #a4439a; --s4: #806600; --s5: #55606e;"""
_DARK = """\
--paper: #14171c; --ink: #e7e9ec; --soft: #a3abb6; --line: #363c46; --tint: #1d232c; --link: #7db8f5; --heat: #1d6fb5;
--s0: #56b4e9; --s1: #f0924c; --s2: #35c79a; --s3: #e59bd6; --s4: #e3cf57; --s5: #b4bcc7;"""

COLOURS = f"""
:root {{ color-scheme: light dark; {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}
@media print {{ :root {{ color-scheme: light; {_LIGHT} }} }}
"""

_SERIES = "".join(f".chart .s{each} {{ fill: var(--s{each}); stroke: var(--s{each}); }}\n" for each in range(SERIES))
DRAWING = f"""
.chart text {{ font: 12px system-ui, sans-serif; fill: var(--ink); }}
.chart .name {{ fill: var(--soft); }}
.chart .grid {{ stroke: var(--line); }}
.chart .zero {{ stroke: var(--soft); }}
.chart .paper {{ fill: var(--paper); }}
.chart .heat {{ fill: var(--heat); }}
.chart .frame {{ fill: none; stroke: var(--line); }}
{_SERIES}.chart .curve {{ fill: none; stroke-width: 2; }}
.chart .mark {{ stroke: none; }}
"""

PAGE = """
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
       font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 0 0 .6rem; }
p, li { max-width: 46rem; }
p { margin: .5rem 0; overflow-wrap: anywhere; }
a { color: var(--link); }
a:focus-visible, .box:focus-visible, summary:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
nav { border: 1px solid var(--line); border-radius: .4rem; padding: .8rem 1.2rem; margin: 1.5rem 0; }
nav ol { margin: 0; padding-left: 1.4rem; }
section { margin: 2.5rem 0; scroll-margin-top: 1rem; }
figure { margin: 0; }
.soft { color: var(--soft); font-size: .85em; }
.label { color: var(--soft); font-size: .7em; font-weight: normal; }
.box { overflow-x: auto; }
.chart { display: block; width: 100%; min-width: 34rem; max-width: 44rem; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; line-height: 1.35; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
th, td { padding: .35rem .7rem; text-align: right; vertical-align: top; white-space: nowrap; }
thead th, thead td[rowspan], thead tr:only-child td { border-bottom: 1px solid var(--soft); vertical-align: bottom; }
thead th[scope=colgroup] { text-align: center; border-bottom-color: var(--line); }
th[scope=row] { position: sticky; left: 0; background: var(--paper); text-align: left; font-weight: normal;
                white-space: normal; min-width: 7rem; max-width: 16rem; overflow-wrap: break-word; }
tbody tr { border-bottom: 1px solid var(--line); }
tr.ours td, tr.ours th[scope=row] { background: var(--tint); }
td span { display: block; color: var(--soft); font-size: .82em; }
td.missing { color: var(--soft); font-style: italic; }
td.missing span { font-style: normal; }
details { margin: .8rem 0; font-size: .9rem; }
summary { cursor: pointer; color: var(--soft); }
@media (max-width: 40rem) {
  body { padding: 1rem; }
  th, td { padding: .3rem .5rem; }
  th[scope=row] { max-width: 9rem; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 9pt; }
  nav, details { display: none; }
  section { break-inside: avoid; }
  .box { overflow: visible; }
  th[scope=row] { position: static; }
  a { color: inherit; text-decoration: none; }
}
"""
