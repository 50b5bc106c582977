/* Entity: what is known about a thing, what is missing and likely, what looks wrong. */

import { get } from "./api.js";
import { asFact, chance, count, disclosure, entityLink, factLine, fill, h, name, named } from "./dom.js";
import { showReasons } from "./reasons.js";

const SHOWN = 12; // facts of a relation before "more"

/** The view of #/entity/ID. */
export async function entity(main, _, id) {
  const found = await get(`entities/${encodeURIComponent(id)}`);
  const thing = found.entity;
  const known = found.facts.map((fact) => asFact(fact.fact ?? fact));
  fill(
    main,
    h(
      "div",
      { class: "entity-head" },
      h("h1", { tabindex: "-1" }, name(thing)),
      h("code", { class: "quiet-text" }, thing.id),
      thing.description ? h("p", { class: "lead" }, h("bdi", {}, thing.description)) : null,
      h("a", { class: "button", href: `#/ask?${new URLSearchParams({ subject: thing.id })}` }, "Ask about it"),
    ),
    h(
      "div",
      { class: "columns" },
      part(
        "known",
        `Known (${count(found.total ?? known.length)})`,
        knownFacts(known, thing),
        found.total > known.length ? nothing(`The first ${count(known.length)} are shown.`) : null,
      ),
      h(
        "div",
        {},
        part("likely", "Missing and likely", guesses(found.likely, thing)),
        part("doubtful", "Looks wrong", doubts(found.doubtful)),
      ),
    ),
  );
  return named(thing).name;
}

function part(id, title, ...content) {
  return h("section", { class: "card", "aria-labelledby": id }, h("h2", { id }, title), content);
}

function nothing(sentence) {
  return h("p", { class: "quiet-text" }, sentence);
}

/** Facts by relation: first those where the thing is the subject, then those where it is the object. */
function knownFacts(facts, thing) {
  if (!facts.length) return nothing("The data says nothing about it.");
  const isSubject = (fact) => named(fact.subject).id === thing.id;
  return [
    side("As the subject", facts.filter(isSubject), "object"),
    side(
      "As the object",
      facts.filter((fact) => !isSubject(fact)),
      "subject",
    ),
  ];
}

function side(title, facts, other) {
  if (!facts.length) return null;
  const groups = new Map();
  for (const fact of facts) {
    const key = named(fact.relation).id;
    if (!groups.has(key)) groups.set(key, { relation: fact.relation, others: [] });
    groups.get(key).others.push(fact[other]);
  }
  const rows = [...groups.values()].map(({ relation, others }) => [
    h("dt", {}, name(relation)),
    h("dd", {}, links(others)),
  ]);
  return [h("h3", { class: "side" }, title), h("dl", { class: "known-facts" }, rows)];
}

function links(others) {
  const items = (some) => some.map((other) => h("li", {}, entityLink(other)));
  const list = h("ul", { class: "inline" }, items(others.slice(0, SHOWN)));
  if (others.length <= SHOWN) return list;
  const rest = h("ul", { class: "inline" });
  const more = disclosure(`${count(others.length - SHOWN)} more`, rest, (place) =>
    place.append(...items(others.slice(SHOWN))),
  );
  return [list, more, rest];
}

function guesses(likely, thing) {
  if (!likely) return nothing("Nothing was proposed yet.");
  return likely.length
    ? h(
        "ul",
        { class: "guesses" },
        likely.map((each) => guess(each, thing)),
      )
    : nothing("Nothing likely is missing.");
}

function guess(each, thing) {
  const fact = asFact(each.fact ?? each);
  const panel = h("div", { class: "reasons" });
  const asked = named(fact.subject).id === thing.id ? "object" : "subject";
  const why = disclosure("Why?", panel, (place) => showReasons(place, fact, asked));
  return h(
    "li",
    { class: "guess" },
    h("span", { class: "guess-fact" }, factLine(fact)),
    chance(each.probability),
    why,
    panel,
  );
}

function doubts(doubtful) {
  if (doubtful === null || doubtful === undefined)
    return [nothing("No audit of this run was made. This makes one:"), h("pre", {}, "cear audit RUN")];
  return doubtful.length ? h("ul", { class: "guesses" }, doubtful.map(doubt)) : nothing("Nothing looks wrong.");
}

function doubt(each) {
  return h(
    "li",
    { class: "guess" },
    h("span", { class: "guess-fact" }, factLine(asFact(each.fact ?? each))),
    chance(each.probability),
  );
}
