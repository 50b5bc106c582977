"""The reliability diagram: what probabilities say against what came true, from records of completions.

python benchmarks/reliability.py results/demo/wide.json --out docs/figures/reliability.svg
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cear.core.files import read_json, replacing

FIGURE = Path("docs/figures/reliability.svg")
RECORDS = [Path(f"results/{each}.json") for each in ("demo/wide", "fb15k-237/completion", "codex-m/completion")]


def draw(records: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw one curve a record, with the 95 % interval of each bin, beside the diagonal."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams.update({"svg.hashsalt": "cear", "svg.fonttype": "none"})  # equal records, equal bytes
    figure, axes = pyplot.subplots(figsize=(5.2, 5), layout="constrained")
    axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8, linestyle="--")
    for record in records:
        calibration = record["completion"]["calibration"]
        bins = calibration["bins"]
        means, shares = ([each[key] for each in bins] for key in ("mean", "share"))
        error = [
            [max(each["share"] - each["low"], 0) for each in bins],
            [each["high"] - each["share"] for each in bins],
        ]
        label = f"{record['data']}, error {calibration['ece']:.3f}"
        axes.errorbar(means, shares, yerr=error, marker="o", markersize=4, linewidth=1, capsize=2, label=label)
    axes.set(xlabel="probability", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.legend(frameon=False, loc="upper left")
    with replacing(path) as partial:
        figure.savefig(partial, format="svg", metadata={"Date": None})
    pyplot.close(figure)


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the records that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="*", type=Path, default=RECORDS)
    parser.add_argument("--out", type=Path, default=FIGURE)
    options = parser.parse_args(arguments)
    draw([read_json(path) for path in options.records], options.out)
    print(options.out)


if __name__ == "__main__":
    main(sys.argv[1:])
