/* Why an answer stands where it does: rules as sentences, the facts that they use, similar facts, rivals, inputs. */

import { get } from "./api.js";
import { asFact, entityLink, factLine, fill, h, named, percent } from "./dom.js";

/** The reasons for a fact; `asked` is the end that was asked for. */
function reasonsFor({ subject, relation, object }, asked = "object") {
  const [known, answer] =
    asked === "object" ? [{ subject: named(subject).id }, object] : [{ object: named(object).id }, subject];
  return get("why", { ...known, relation: named(relation).id, answer: named(answer).id });
}

/** The reasons for a fact in a sentence. */
export async function reasonFor(fact) {
  return (await reasonsFor(fact)).sentence;
}

/** Fill a panel with the reasons for a fact; `asked` is the end that was asked for. */
export async function showReasons(panel, fact, asked = "object") {
  panel.setAttribute("aria-busy", "true");
  fill(panel, h("p", { class: "quiet-text" }, "Looking for reasons …"));
  try {
    fill(panel, ...parts(await reasonsFor(fact, asked)));
  } catch (error) {
    fill(panel, h("p", { class: "wrong" }, error.message));
  } finally {
    panel.removeAttribute("aria-busy");
  }
}

function parts(why) {
  return [
    h("p", { class: "because" }, h("bdi", {}, beyondRules(why))),
    group("Rules that fired", why.rules, rule),
    group("Similar facts that are known", why.similar, similar),
    group("Rivals", why.rivals, rival),
    inputs(why.inputs),
    why.candidates ? h("p", { class: "quiet-text" }, standing(why)) : null,
  ].filter(Boolean);
}

/** The sentence without the rule that it begins with: it is told below, with its facts. */
function beyondRules({ sentence, rules }) {
  const first = rules?.[0]?.sentence ?? "";
  return first && sentence.startsWith(first) ? sentence.slice(first.length).trim() || sentence : sentence;
}

function standing({ place, candidates, listed, known }) {
  if (listed === false)
    return known
      ? "The training facts say so already."
      : `It was not among the ${candidates} candidates; it would be number ${place}.`;
  return `Number ${place} of ${candidates} candidates that were read together.`;
}

function group(title, things, row) {
  if (!things?.length) return null;
  return h(
    "section",
    {},
    h("h4", {}, title),
    h(
      "ul",
      { class: "reasons-list" },
      things.map((thing) => h("li", {}, row(thing))),
    ),
  );
}

function rule({ sentence, confidence, facts }) {
  const support = (facts ?? []).map((fact) => h("li", {}, factLine(asFact(fact))));
  return [
    h("bdi", {}, sentence),
    confidence === undefined || confidence === null
      ? null
      : h("span", { class: "badge" }, `right in ${percent(confidence)}`),
    support.length ? h("ul", { class: "facts", "aria-label": "Facts that it uses" }, support) : null,
  ];
}

function similar(each) {
  const alike = each.similarity < 0.01 ? null : h("span", { class: "badge" }, `${percent(each.similarity)} alike`);
  return [factLine(asFact(each.fact ?? each)), " ", alike];
}

function rival(each) {
  const effect = each.effect ?? 0;
  const told = Math.abs(effect) < 0.05 ? "hardly matters to it" : effect > 0 ? "holds it down" : "lifts it";
  return [entityLink(each.entity ?? each), " ", h("span", { class: "quiet-text" }, told)];
}

function inputs(weights) {
  const rows = Object.entries(weights ?? {}).sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]));
  if (!rows.length) return null;
  const largest = Math.max(0.001, ...rows.map(([, weight]) => Math.abs(weight)));
  return h(
    "section",
    {},
    h("h4", {}, "What the re-ranker went by"),
    h(
      "ul",
      { class: "inputs" },
      rows.map(([group, weight]) => input(group, weight, largest)),
    ),
  );
}

function input(group, weight, largest) {
  const bar = h("span", { class: `weight ${weight < 0 ? "against" : "for"}`, "aria-hidden": "true" });
  bar.style.setProperty("--share", Math.abs(weight) / largest);
  const told = `${weight < 0 ? "−" : "+"}${Math.abs(weight).toFixed(2)}`;
  return h(
    "li",
    {},
    h("span", { class: "input-name" }, group),
    h("span", { class: "weights" }, bar),
    h("span", { class: "number" }, told),
  );
}
