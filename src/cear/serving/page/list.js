/* The proposals beside the card: what comes next, and what became of those before. */

import { decisionWords } from "./card.js";
import { chance, fill, h, name } from "./dom.js";
import { verdictOf } from "./queue.js";

/** A list to choose a proposal from; `step` is called with 1 or -1, `choose` with a proposal. */
export class ProposalList {
  constructor({ step, choose }) {
    this.choose = choose;
    this.box = h("div", { class: "queue", role: "listbox", tabindex: "0", "aria-label": "Proposals" });
    this.box.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      step(by);
    });
    const title = h("h2", { id: "up-next" }, "Proposals");
    this.note = h("p", { class: "quiet-text" });
    this.about = h("details", {}, h("summary", {}, "About these probabilities"), this.note);
    this.element = h("section", { class: "card up-next", "aria-labelledby": "up-next" }, title, this.box, this.about);
  }

  /** Show the proposals of a queue, that in front of the reviewer marked. */
  show({ items, at, current, note }) {
    fill(
      this.box,
      items.map((item, place) => this.option(item, place, item === current)),
    );
    this.note.textContent = note;
    this.about.hidden = !note || !items.length;
    if (current) this.box.setAttribute("aria-activedescendant", `proposal-${at}`);
    else this.box.removeAttribute("aria-activedescendant");
    const marked = this.box.children[at];
    if (marked) this.box.scrollTop = marked.offsetTop - this.box.clientHeight / 3; // not scrollIntoView: the page stays
  }

  option(item, place, marked) {
    const verdict = verdictOf(item);
    return h(
      "div",
      {
        id: `proposal-${place}`,
        role: "option",
        class: "queued",
        "aria-selected": String(marked),
        onclick: () => this.choose(item),
      },
      h("span", {}, h("b", {}, name(item.subject)), " ", relation(item), " ", h("b", {}, name(item.object))),
      verdict ? h("span", { class: `state ${verdict}` }, decisionWords(item.decision)) : chance(item.probability),
    );
  }
}

function relation(item) {
  return h("span", { class: "relation" }, name(item.relation));
}
