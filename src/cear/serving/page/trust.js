/* Trust: the run's figures with intervals, its reliability, each relation, where the data came from, what it cost. */

import { get } from "./api.js";
import { asBins, reliabilityChart } from "./charts.js";
import { count, fill, h, name } from "./dom.js";

const SIDES = { both: "both", head: "subject asked", tail: "object asked" };

/** The view of #/trust. */
export async function trust(main) {
  const found = await get("trust");
  fill(
    main,
    h("h1", { tabindex: "-1" }, "Trust"),
    h("p", { class: "lead" }, "What the run ", h("b", {}, found.run), " is worth, as far as it was measured."),
    found.note ? h("p", { class: "aside" }, found.note) : "",
    figures(found),
    h("div", { class: "columns" }, reliability(found), h("div", {}, data(found.data), cost(found))),
    relations(found.relations),
  );
  return "Trust";
}

function part(id, title, ...content) {
  return h("section", { class: "card", "aria-labelledby": id }, h("h2", { id }, title), content);
}

function missing() {
  return h("p", { class: "quiet-text" }, "Not measured.");
}

function figures({ figures: all, split, queries }) {
  if (!all) return part("figures", "Ranking", missing());
  const measures = [...new Set(all.map((each) => each.measure))];
  const rows = [...new Set(all.map((each) => `${each.stage} ${each.side}`))].map((key) =>
    all.filter((each) => `${each.stage} ${each.side}` === key),
  );
  const head = h(
    "tr",
    {},
    ["Stage", "Side", ...measures.map(measureName)].map((title) => h("th", { scope: "col" }, title)),
  );
  const body = rows.map((row) =>
    h(
      "tr",
      { class: row[0].side === "both" ? "strong" : "" },
      h("td", {}, row[0].stage),
      h("td", {}, SIDES[row[0].side] ?? row[0].side),
      measures.map((measure) => h("td", {}, interval(row.find((each) => each.measure === measure)))),
    ),
  );
  const about = `${count(queries)} questions of the ${split} facts, filtered; 95 % intervals.`;
  return part(
    "figures",
    "Ranking",
    scrolling("Figures of both stages", head, body),
    h("p", { class: "quiet-text" }, about),
  );
}

function measureName(measure) {
  return measure === "mrr" ? "MRR" : measure.replace("hits@", "H@");
}

function interval(figure) {
  if (!figure) return "–";
  return [
    h("span", { class: "figure" }, figure.value.toFixed(3)),
    h("span", { class: "range" }, `${figure.low.toFixed(3)} – ${figure.high.toFixed(3)}`),
  ];
}

/** A table that scrolls by itself on a small screen, also by keyboard. */
function scrolling(label, head, body) {
  return h(
    "div",
    { class: "scrolls", tabindex: "0", role: "region", "aria-label": label },
    h("table", {}, h("thead", {}, head), h("tbody", {}, body)),
  );
}

function reliability({ reliability: bins, calibration_error: error, right_of_first: first }) {
  if (!bins) return part("reliability", "Probabilities", missing());
  const said = "What the probabilities of proposals promised, and how many of them are hidden test facts.";
  const off =
    error === null || error === undefined ? null : h("p", {}, `Expected calibration error: ${error.toFixed(3)}.`);
  const hits = Object.entries(first ?? {}).map(([number, right]) =>
    h("li", {}, `Of the first ${count(Number(number))} proposals, at least ${count(right)} are right.`),
  );
  return part(
    "reliability",
    "Probabilities",
    h("p", {}, said),
    reliabilityChart(asBins(bins), said),
    off,
    hits.length ? h("ul", {}, hits) : null,
  );
}

function relations(all) {
  if (!all) return part("relations", "Each relation", missing());
  const titles = ["Relation", "Questions", "MRR", "Stage 1", "H@1", "H@10"];
  const head = h(
    "tr",
    {},
    titles.map((title) => h("th", { scope: "col" }, title)),
  );
  const number = (value) => h("td", {}, value === null || value === undefined ? "–" : value.toFixed(3));
  const body = all.map((each) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, name(each)),
      h("td", {}, count(each.queries)),
      number(each.mrr),
      number(each.stage1_mrr),
      number(each.hits_at_1),
      number(each.hits_at_10),
    ),
  );
  return part("relations", "Each relation", scrolling("Figures of each relation", head, body));
}

function definitions(pairs) {
  return h(
    "dl",
    { class: "pairs" },
    pairs.map(([title, value]) => h("div", {}, h("dt", {}, title), h("dd", {}, value))),
  );
}

function data({ name: called, source, digest, entities, relations: kinds, facts }) {
  const splits = Object.entries(facts).map(([split, number]) => [`Facts, ${split}`, count(number)]);
  return part(
    "data",
    "Data",
    definitions([
      ["Name", called],
      ["Source", source],
      ["Entities", count(entities)],
      ["Relations", count(kinds)],
      ...splits,
      ["Digest", h("code", {}, digest.slice(0, 16))],
    ]),
  );
}

function cost({ seconds, steps }) {
  const head = h(
    "tr",
    {},
    ["Step", "Seconds", "CPU", "Device"].map((title) => h("th", { scope: "col" }, title)),
  );
  const body = [...steps]
    .sort((one, other) => other.seconds - one.seconds)
    .map((step) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, step.name),
        h("td", {}, step.seconds.toFixed(1)),
        h("td", {}, step.cpu_seconds.toFixed(1)),
        h("td", {}, step.device),
      ),
    );
  return part(
    "cost",
    "Cost",
    h("p", {}, `${duration(seconds)} of wall clock in ${steps.length} steps.`),
    h("details", {}, h("summary", {}, "Each step"), scrolling("Cost of each step", head, body)),
  );
}

function duration(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} seconds`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} minutes` : `${(seconds / 3600).toFixed(1)} hours`;
}
