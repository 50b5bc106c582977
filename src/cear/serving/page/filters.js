/* Which proposals are reviewed, and by whom. */

import { count, h, named } from "./dom.js";

const WHO = "cear.who";
const DEFAULTS = { relation: "", min_probability: "", order: "probability", state: "open" };
const SHARES = ["", "0.5", "0.8", "0.9", "0.95"];
const ORDERS = { probability: "likeliest first", relation: "by relation" };
const STATES = ["open", "accepted", "rejected", "skipped", "all"];

/** The choices of a review as a form; `changed` is called with {relation, min_probability, order, state}. */
export class Filters {
  constructor(parameters, relations, changed) {
    this.chosen = { ...DEFAULTS };
    for (const key of Object.keys(DEFAULTS)) if (parameters.get(key)) this.chosen[key] = parameters.get(key);
    this.changed = changed;
    this.name = h("input", {
      id: "who",
      type: "text",
      autocomplete: "nickname",
      maxlength: "100",
      dir: "auto",
      placeholder: "Your name",
      oninput: () => localStorage.setItem(WHO, this.who),
    });
    this.name.value = localStorage.getItem(WHO) ?? "";
    this.element = h(
      "details",
      { class: "which", open: !matchMedia("(max-width: 48rem)").matches }, // a phone shows the proposal first
      h("summary", {}, "Which proposals, and reviewed by whom"),
      this.form(relations),
    );
  }

  /** Who reviews; empty if nobody says. */
  get who() {
    return this.name.value.trim();
  }

  form(relations) {
    const kinds = relations.map((each) => [each.id, `${named(each).name} (${count(each.open + each.decided)})`]);
    return h(
      "form",
      { class: "filters", "aria-label": "Which proposals", onsubmit: (event) => event.preventDefault() },
      this.select("relation", "Relation", [["", "every relation"], ...kinds]),
      this.select(
        "min_probability",
        "At least",
        SHARES.map((share) => [share, share ? `${100 * share} %` : "any"]),
      ),
      this.select("order", "Order", Object.entries(ORDERS)),
      this.select(
        "state",
        "Show",
        STATES.map((state) => [state, state]),
      ),
      h("div", { class: "field" }, h("label", { for: "who" }, "Reviewed by"), this.name),
    );
  }

  select(key, label, options) {
    const choice = ([value, text]) => h("option", { value, selected: value === this.chosen[key] }, text);
    const box = h("select", { id: `by-${key}`, onchange: () => this.take(key, box.value) }, options.map(choice));
    return h("div", { class: "field" }, h("label", { for: `by-${key}` }, label), box);
  }

  /** Another choice; the address says so, and the focus stays where it is. */
  take(key, value) {
    this.chosen = { ...this.chosen, [key]: value };
    const told = Object.entries(this.chosen).filter(([name, each]) => each !== DEFAULTS[name]);
    history.replaceState(null, "", told.length ? `#/review?${new URLSearchParams(told)}` : "#/review");
    this.changed(this.chosen);
  }
}
