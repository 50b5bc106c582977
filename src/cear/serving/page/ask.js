/* Ask: a question with one open end; known and likely answers, how re-ranking moved them, and reasons. */

import { get } from "./api.js";
import { moved, slopeChart } from "./charts.js";
import { Combobox } from "./combobox.js";
import { announce, chance, count, disclosure, entityLink, fill, h, name, named } from "./dom.js";
import { showReasons } from "./reasons.js";

const SPLITS = { train: "a training fact", valid: "held out for validation", test: "held out for testing" };

/** The view of #/ask?subject=…|object=…&relation=…&new=true */
export async function ask(main, parameters) {
  const form = new QuestionForm(parameters);
  const results = h("div", { class: "results" });
  fill(main, h("h1", { tabindex: "-1" }, "Ask"), form.element, results);
  if (parameters.get("relation") && (parameters.get("subject") || parameters.get("object")))
    await answer(results, parameters, form);
  else await suggestions(results);
  return "Ask";
}

/** ⟨subject, relation, ?⟩ or ⟨?, relation, object⟩ as a form. */
class QuestionForm {
  constructor(parameters) {
    this.end = parameters.get("object") ? "object" : "subject";
    this.entity = new Combobox({
      label: "Subject",
      path: "entities",
      group: "entities",
      placeholder: "Type a name",
      chosen: () => this.onward(),
    });
    this.relation = new Combobox({
      label: "Relation",
      path: "relations",
      group: "relations",
      placeholder: "Choose or type",
      soon: true,
      more: (item) => (item.facts === undefined ? "" : `${count(item.facts)} facts`),
      chosen: () => this.onward(),
    });
    this.entity.input.value = parameters.get(this.end) ?? "";
    this.relation.input.value = parameters.get("relation") ?? "";
    this.fresh = h("input", { type: "checkbox", id: "fresh" });
    this.fresh.checked = parameters.get("new") === "true";
    this.asked = h("div", { class: "open-end" });
    this.fields = h("div", { class: "question" });
    this.swap = h("button", { type: "button", class: "quiet", onclick: () => this.turn() });
    this.element = h(
      "form",
      { class: "card", "aria-label": "Question", onsubmit: (event) => this.submit(event) },
      this.fields,
      h(
        "div",
        { class: "row" },
        h("button", { class: "main" }, "Ask"),
        this.swap,
        h("span", { class: "check" }, this.fresh, h("label", { for: "fresh" }, "Only what is not known yet")),
      ),
    );
    this.lay();
  }

  /** Put the fields in the order of the fact. */
  lay() {
    const asksObject = this.end === "subject";
    this.entity.element.querySelector("label").textContent = asksObject ? "Subject" : "Object";
    this.entity.list.setAttribute("aria-label", asksObject ? "Subject" : "Object");
    fill(
      this.asked,
      h("span", { class: "label" }, asksObject ? "Object" : "Subject"),
      h("span", { class: "blank", "aria-label": "asked for" }, "?"),
    );
    const order = [this.entity.element, this.relation.element, this.asked];
    fill(this.fields, ...(asksObject ? order : order.reverse()));
    this.swap.textContent = asksObject ? "Ask for the subject instead" : "Ask for the object instead";
  }

  turn() {
    this.end = this.end === "subject" ? "object" : "subject";
    this.lay();
  }

  /** To the field that is still empty, or to the answers. */
  onward() {
    const empty = [this.entity, this.relation].find((field) => !field.value);
    if (empty) empty.input.focus();
    else this.element.requestSubmit();
  }

  submit(event) {
    event.preventDefault();
    const empty = [this.entity, this.relation].find((field) => !field.value);
    if (empty) return empty.input.focus();
    this.relation.close();
    this.entity.close();
    const told = new URLSearchParams({ [this.end]: this.entity.value, relation: this.relation.value });
    if (this.fresh.checked) told.set("new", "true");
    const address = `#/ask?${told}`;
    if (location.hash === address) dispatchEvent(new HashChangeEvent("hashchange"));
    else location.hash = address;
    return undefined;
  }

  /** What was asked, with names instead of ids. */
  tell({ subject, relation, object }) {
    this.entity.set(named(subject ?? object));
    this.relation.set(named(relation));
  }
}

async function answer(results, parameters, form) {
  results.setAttribute("aria-busy", "true");
  fill(results, h("p", { class: "quiet-text" }, "Asking …"));
  try {
    const asked = {
      subject: parameters.get("subject"),
      object: parameters.get("object"),
      relation: parameters.get("relation"),
    };
    const { question, answers } = await get("ask", {
      ...asked,
      k: 10,
      new: parameters.get("new") === "true" ? "true" : "",
    });
    form.tell(question);
    show(results, question, answers);
  } catch (error) {
    fill(results, h("p", { class: "wrong", role: "alert" }, error.message));
  } finally {
    results.removeAttribute("aria-busy");
  }
}

function show(results, question, answers) {
  const known = answers.filter((each) => each.known !== null);
  const likely = answers.filter((each) => each.known === null);
  const chart = slopeChart(answers);
  fill(
    results,
    h("h2", { class: "asked", tabindex: "-1" }, inBrackets(question)),
    h(
      "div",
      { class: chart ? "columns" : "" },
      h("div", {}, section("Known", "known", known, question), section("Likely", "likely", likely, question)),
      chart
        ? h("section", { "aria-labelledby": "moved" }, h("h3", { id: "moved" }, "What re-ranking changed"), chart)
        : null,
    ),
  );
  announce(`${known.length} known and ${likely.length} likely answers.`);
}

function inBrackets({ subject, relation, object }) {
  const part = (thing) => (thing ? entityLink(thing) : h("span", { class: "blank-word" }, "?"));
  return ["⟨", part(subject), ", ", name(relation), ", ", part(object), "⟩"];
}

function section(title, id, answers, question) {
  const none = id === "known" ? "Nothing is known." : "Nothing else was found.";
  const rows = answers.map((each) => row(each, question));
  const list = rows.length ? h("ol", { class: `answers ${id}` }, rows) : h("p", { class: "quiet-text" }, none);
  return h("section", { "aria-labelledby": id }, h("h3", { id }, title), list);
}

function row(each, question) {
  const panel = h("div", { class: "reasons" });
  const fact = { subject: question.subject ?? each, relation: question.relation, object: question.object ?? each };
  const why = disclosure("Why?", panel, (place) => showReasons(place, fact, question.subject ? "object" : "subject"), {
    "aria-label": `Why ${each.name}?`,
  });
  return h(
    "li",
    { class: "answer" },
    h("span", { class: "rank", "aria-label": each.rank ? `number ${each.rank}` : "known" }, each.rank || "✓"),
    h(
      "div",
      { class: "what" },
      h("span", { class: "answer-name" }, entityLink(each)),
      each.description ? h("p", { class: "about clamp" }, h("bdi", {}, each.description)) : null,
      notes(each),
    ),
    each.probability === null || each.probability === undefined
      ? h("span", { class: "chance" })
      : chance(each.probability),
    why,
    panel,
  );
}

function notes(each) {
  const split = each.known && SPLITS[each.known] ? h("span", { class: "badge" }, SPLITS[each.known]) : null;
  const way = { up: "↑ from", down: "↓ from", same: "as by Stage 1, " }[moved(each)];
  const place = each.rank
    ? h("span", { class: "quiet-text" }, each.stage1_rank ? `${way} ${each.stage1_rank}` : "beyond Stage 1’s list")
    : null;
  return split || place ? h("p", { class: "notes" }, split, split && place ? " " : null, place) : null;
}

/** For somebody who comes with no question: a few that the run has an opinion about. */
async function suggestions(results) {
  const { proposals } = await get("proposals", { limit: 60 }).catch(() => ({ proposals: [] }));
  const relations = new Map();
  for (const each of proposals)
    if (!relations.has(named(each.relation).id)) relations.set(named(each.relation).id, each);
  const questions = [...relations.values()].slice(0, 5).map(({ subject, relation }) => {
    const told = new URLSearchParams({ subject: named(subject).id, relation: named(relation).id });
    return h("li", {}, h("a", { href: `#/ask?${told}` }, "⟨", name(subject), ", ", name(relation), ", ?⟩"));
  });
  const hint =
    "Type a name, also with a typo, and choose what to ask about it. What the data says and what is likely are shown apart.";
  fill(results, h("p", { class: "lead" }, hint));
  if (questions.length) results.append(h("h2", {}, "For example"), h("ul", { class: "examples" }, questions));
}
