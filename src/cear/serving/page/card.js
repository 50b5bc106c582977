/* One proposal in front of the reviewer: the fact, how likely it is and why, a note, and four buttons. */

import { chance, disclosure, entityLink, fill, h, name } from "./dom.js";
import { moved } from "./charts.js";
import { verdictOf } from "./queue.js";
import { reasonFor, showReasons } from "./reasons.js";

const REST = 300; // milliseconds that somebody who only passes by does not stay
const DONE = { accepted: "✓ accepted", rejected: "✕ rejected", skipped: "→ skipped" };

/** The verdict of a decision in words, with who made it. */
export function decisionWords({ verdict, who }) {
  return `${DONE[verdict] ?? verdict}${who ? ` by ${who}` : ""}`;
}

/** The card; `does` has accept, reject, skip and undo. Its buttons stay while what it shows changes. */
export class Card {
  constructor(does) {
    this.fact = h("h2", { class: "fact", id: "fact" });
    this.about = h("div", { class: "fact-about" });
    this.because = h("p", { class: "because" });
    this.panel = h("div", { class: "reasons" });
    this.why = disclosure("All reasons", this.panel, (place) => showReasons(place, this.item), {
      "aria-keyshortcuts": "w",
    });
    this.note = h("input", {
      id: "note",
      type: "text",
      maxlength: "500",
      dir: "auto",
      autocomplete: "off",
      placeholder: "A source, a doubt",
      onkeydown: (event) => this.leave(event),
    });
    const button = (label, key, call, main) =>
      h(
        "button",
        { type: "button", class: main ? "main" : "", "aria-keyshortcuts": key, onclick: call },
        label,
        " ",
        h("kbd", { "aria-hidden": "true" }, key),
      );
    this.buttons = h(
      "div",
      { class: "verdicts", role: "group", "aria-label": "Decide" },
      button("Accept", "a", does.accept, true),
      button("Reject", "r", does.reject),
      button("Skip", "s", does.skip),
      button("Undo", "u", does.undo),
    );
    this.body = h(
      "div",
      { class: "proposal-body" },
      this.about,
      this.fact,
      this.because,
      this.why,
      this.panel,
      h("label", { for: "note", class: "note-label" }, "Note ", h("kbd", { "aria-hidden": "true" }, "n")),
      this.note,
    );
    this.done = h("div", { class: "lead", hidden: true });
    this.element = h(
      "section",
      { class: "card proposal", "aria-labelledby": "fact" },
      this.done,
      this.body,
      this.buttons,
    );
  }

  /** Enter and Escape leave the note for the letters that decide; what was written stays. */
  leave(event) {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    this.note.blur();
  }

  /** Show a proposal. Its note is that of its decision, and empty for an open one. */
  show(item) {
    const changed = item !== this.item;
    this.item = item;
    this.body.hidden = !item;
    if (!item) return;
    const { subject, relation, object } = item;
    fill(this.fact, entityLink(subject), h("span", { class: "relation" }, name(relation)), entityLink(object));
    fill(this.about, chance(item.probability), places(item), state(item));
    this.tell(item.reasons);
    if (!changed) return;
    clearTimeout(this.resting);
    if (!item.reasons) this.resting = setTimeout(() => this.explain(item), REST);
    this.note.value = verdictOf(item) ? (item.decision.note ?? "") : "";
    this.panel.hidden = true;
    fill(this.panel);
    this.why.setAttribute("aria-expanded", "false");
  }

  tell(sentence) {
    fill(this.because, h("bdi", {}, sentence ?? ""));
  }

  /** Why, in a sentence, for a reader who stays at a proposal that came without one. */
  async explain(item) {
    item.reasons = await reasonFor(item).catch(() => null); // all reasons can still be asked for
    if (item === this.item) this.tell(item.reasons);
  }

  /** Say that there is nothing to show, and why; `more` is what can be done about it. */
  empty(sentence, more = null) {
    fill(this.done, sentence, more);
    this.done.hidden = !sentence;
    this.element.classList.toggle("finished", Boolean(sentence));
  }
}

function places(item) {
  if (!item.rank) return null;
  const from = item.stage1_rank && moved(item) !== "same" ? `, by Stage 1 ${item.stage1_rank}` : "";
  return h("span", { class: "quiet-text" }, `ranked ${item.rank}${from}`);
}

function state(item) {
  if (!verdictOf(item)) return "";
  return h(
    "span",
    { class: `state ${item.decision.verdict}` },
    decisionWords(item.decision),
    item.waits ? " – not sent yet" : "",
  );
}
