/* Two charts as SVG: how re-ranking moved the answers, and whether probabilities came true. */

import { h, named, percent, shortened, svg } from "./dom.js";

const ROW = 34;
const WIDTH = 440;
const NAME = 17; // letters of a name that have room beside the lines

/** Stage 1 on the left, Stage 2 on the right, a line for each answer: where two lines cross, one has overtaken. */
export function slopeChart(answers) {
  const after = answers.filter((each) => each.rank > 0).sort((one, other) => one.rank - other.rank);
  if (after.length < 2) return null;
  const before = [...after].sort((one, other) => (one.stage1_rank || Infinity) - (other.stage1_rank || Infinity));
  const y = (place) => 46 + place * ROW;
  const [left, right] = [WIDTH * 0.38, WIDTH * 0.62];
  const lines = after.map((answer, place) => slope(answer, left, y(before.indexOf(answer)), right, y(place)));
  const risen = after.filter((answer, place) => place < before.indexOf(answer)).length;
  const said = `${after.length} answers by Stage 1 on the left and after re-ranking on the right; ${risen} overtook others.`;
  const chart = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${y(after.length) - 12}`, class: "slope", role: "img", "aria-label": said },
    svg("text", { x: left, y: 18, class: "axis end" }, "Stage 1"),
    svg("text", { x: right, y: 18, class: "axis" }, "Stage 2"),
    lines,
  );
  const caption = "A line that rises overtook others: re-ranking put it higher. Numbers are places among all entities.";
  return h("figure", {}, chart, h("figcaption", {}, caption));
}

function slope(answer, x1, y1, x2, y2) {
  // Isolates: a name that is written from right to left must not pull the number to its other side.
  const name = `\u2068${shortened(named(answer).name, NAME)}\u2069`;
  return svg(
    "g",
    { class: y2 < y1 ? "overtook" : "" },
    svg("title", {}, `${named(answer).name}: ${answer.stage1_rank || "not"} by Stage 1, ${answer.rank} by Stage 2`),
    svg("text", { x: x1 - 12, y: y1 + 5, class: "end" }, `${name} ${answer.stage1_rank || "–"}`),
    svg("line", { x1, y1, x2, y2 }),
    svg("circle", { cx: x1, cy: y1, r: 3.5 }),
    svg("circle", { cx: x2, cy: y2, r: 3.5 }),
    svg("text", { x: x2 + 12, y: y2 + 5 }, `${answer.rank} ${name}`),
  );
}

/** Whether an answer was put higher, lower, or left where it stood. */
export function moved({ rank, stage1_rank: before }) {
  if (before === rank) return "same";
  return !before || rank < before ? "up" : "down";
}

const SIDE = 300;
const EDGE = 44;

/** What probabilities promised (across) and how often they were right (up), by bins {said, true, low, high, count}. */
export function reliabilityChart(bins, label) {
  const x = (share) => EDGE + share * (SIDE - EDGE - 14);
  const y = (share) => SIDE - EDGE - share * (SIDE - EDGE - 14);
  const filled = bins.filter((bin) => bin.count > 0);
  const largest = Math.max(1, ...filled.map((bin) => bin.count));
  const ticks = [0, 0.5, 1].flatMap((at) => [
    svg("line", { x1: x(0), x2: x(1), y1: y(at), y2: y(at), class: "grid" }),
    svg("text", { x: x(0) - 8, y: y(at) + 5, class: "axis end" }, `${100 * at}`),
    svg("text", { x: x(at), y: y(0) + 20, class: "axis middle" }, `${100 * at}`),
  ]);
  const chart = svg(
    "svg",
    { viewBox: `0 0 ${SIDE} ${SIDE}`, class: "reliability", role: "img", "aria-label": label },
    ticks,
    svg("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), class: "promise" }),
    filled
      .filter((bin) => bin.low !== undefined && bin.low !== null)
      .map((bin) =>
        svg("line", { x1: x(bin.said), x2: x(bin.said), y1: y(bin.low), y2: y(bin.high), class: "interval" }),
      ),
    svg("polyline", { points: filled.map((bin) => `${x(bin.said)},${y(bin.true)}`).join(" "), class: "came-true" }),
    filled.map((bin) =>
      svg(
        "circle",
        { cx: x(bin.said), cy: y(bin.true), r: 3 + 5 * Math.sqrt(bin.count / largest) },
        svg("title", {}, inWords(bin)),
      ),
    ),
    svg("text", { x: x(0.5), y: SIDE - 4, class: "axis middle" }, "promised, %"),
    svg("text", { x: 12, y: y(0.5), class: "axis middle", transform: `rotate(-90 12 ${y(0.5)})` }, "right, %"),
  );
  return h("figure", { class: "square" }, chart, table(filled));
}

function inWords(bin) {
  return `${bin.count} promised ${percent(bin.said)}: ${percent(bin.true)} right`;
}

function table(bins) {
  const row = (bin) =>
    h("tr", {}, h("td", {}, percent(bin.said)), h("td", {}, percent(bin.true)), h("td", {}, bin.count));
  const head = h(
    "tr",
    {},
    ["promised", "right", "facts"].map((title) => h("th", { scope: "col" }, title)),
  );
  return h(
    "details",
    {},
    h("summary", {}, "As a table"),
    h("table", {}, h("thead", {}, head), h("tbody", {}, bins.map(row))),
  );
}

/** The bins of the service, of decisions (said, came_true) or of test facts (mean, share), as the chart reads them. */
export function asBins(reliability) {
  return (reliability ?? []).map((bin) => ({
    said: bin.said ?? bin.mean,
    true: bin.came_true ?? bin.share,
    low: bin.low,
    high: bin.high,
    count: bin.count,
  }));
}
