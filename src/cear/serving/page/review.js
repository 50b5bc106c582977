/* Review: proposals one after the other, decided with single keys, by several people at once. */

import { get, getText, passing } from "./api.js";
import { Card } from "./card.js";
import { completing } from "./completing.js";
import { announce, factWords, fill, h, percent, trouble } from "./dom.js";
import { Filters } from "./filters.js";
import { onKeys } from "./keys.js";
import { ProposalList } from "./list.js";
import { keyOf, Outbox } from "./outbox.js";
import { Progress } from "./progress.js";
import { idsOf, Queue, verdictOf } from "./queue.js";

const EVERY = 4000; // milliseconds between two looks at what others have decided
const SAID = { accepted: "Accepted", rejected: "Rejected", skipped: "Skipped" };

let shown = null; // the review in front of the reader; decisions are sent even when there is none
const outbox = new Outbox({
  kept: (letter, decision) => shown?.kept(letter, decision),
  conflict: (letter, decision, sentence) => (shown ? shown.conflict(letter, decision, sentence) : trouble(sentence)),
  refused: (letter, sentence) => (shown ? shown.refused(letter, sentence) : trouble(sentence)),
  waiting: (size) => trouble(size ? waitingWords(size) : ""),
});
addEventListener("beforeunload", (event) => outbox.size && event.preventDefault());
outbox.send(); // what a reload has left

/** The view of #/review?relation=…&min_probability=…&order=…&state=… */
export async function review(main, parameters) {
  await show(main, parameters);
  return "Review";
}

async function show(main, parameters = new URLSearchParams()) {
  const { relations, last } = await get("decisions/summary");
  if (!main.isConnected) return; // another view was chosen meanwhile
  leaveReview();
  shown = new Review(main, parameters, relations, last);
  await shown.load();
}

/** Leave the review, if it is the view; what was decided is sent all the same. */
export function leaveReview() {
  shown?.close();
}

function waitingWords(size) {
  const what = size === 1 ? "One decision waits" : `${size} decisions wait`;
  return `The service does not answer. ${what} here and will be sent when it does.`;
}

class Review {
  constructor(main, parameters, relations, last) {
    this.main = main;
    this.bare = relations.length === 0; // nobody has completed the run
    const does = {
      accept: () => this.decide("accepted"),
      reject: () => this.decide("rejected"),
      skip: () => this.decide("skipped"),
      undo: () => this.undo(),
    };
    this.filters = new Filters(parameters, relations, () => this.load());
    this.card = new Card(does);
    this.list = new ProposalList({ step: (by) => this.step(by), choose: (item) => this.goTo(item) });
    this.progress = new Progress();
    this.undoable = [];
    this.after = last; // of the log: what was decided before is in the queue already
    const keys = { a: does.accept, r: does.reject, s: does.skip, u: does.undo };
    const moves = { j: () => this.step(1), k: () => this.step(-1) };
    this.forget = onKeys({ ...keys, ...moves, n: () => this.card.note.focus(), w: () => this.card.why.click() });
    this.ticking = setInterval(() => document.hidden || this.follow(), EVERY);
    const desk = h("div", { class: "desk" }, this.card.element, this.list.element, this.progress.panel);
    fill(main, h("h1", { tabindex: "-1" }, "Review"), this.progress.element, this.filters.element, desk);
  }

  close() {
    this.forget();
    clearInterval(this.ticking);
    shown = null;
  }

  async load() {
    const queue = new Queue(this.filters.chosen);
    Object.assign(this, { queue, finished: false });
    await Promise.all([queue.more().catch((error) => trouble(error.message)), this.progress.refresh()]);
    if (queue === this.queue) this.draw();
  }

  draw() {
    this.list.show(this.queue);
    this.card.show(this.queue.current);
    if (this.queue.current) this.card.empty(this.finished ? "All of these are decided." : "");
    else if (this.bare)
      this.card.empty(
        "Nothing is proposed yet.",
        completing(() => show(this.main)),
      );
    else this.card.empty("Nothing is here. Choose other proposals above.");
  }

  goTo(item) {
    this.finished = false;
    this.queue.goTo(item);
    this.draw();
  }

  async step(by) {
    this.finished = false;
    await this.queue.step(by).catch((error) => trouble(error.message));
    this.draw();
    if (this.queue.current) announce(this.told(this.queue.current));
  }

  told(item) {
    return [factWords(item), percent(item.probability), verdictOf(item)].filter(Boolean).join(", ");
  }

  /** Show a decision at once and send it; a quick reviewer does not wait for the disk. */
  decide(verdict) {
    const item = this.queue?.current;
    if (!item || this.moving || this.finished) return;
    const [who, note, seen] = [this.filters.who, this.card.note.value.trim(), item.decision?.number ?? 0];
    this.undoable.push(item);
    Object.assign(item, { decision: { verdict, who, note, number: seen }, waits: true });
    outbox.add({ ...idsOf(item), verdict, note, who, seen });
    this.onward(`${SAID[verdict]}.`);
  }

  async onward(said) {
    this.moving = true; // keys that come meanwhile would decide about the same fact again
    this.draw();
    const there = await this.queue.advance().catch((error) => passing(error));
    this.moving = false;
    this.finished = !there;
    this.draw();
    announce(there ? `${said} Next: ${this.told(this.queue.current)}` : `${said} That was the last one.`);
  }

  undo() {
    const item = this.undoable.pop();
    if (!item) return announce("There is nothing to undo.");
    const seen = item.decision.number ?? 0;
    outbox.add({ ...idsOf(item), verdict: "undone", note: "", who: this.filters.who, seen });
    item.decision = { verdict: "undone", number: seen };
    item.waits = true;
    this.finished = false;
    if (this.queue.items.includes(item)) this.queue.goTo(item);
    this.draw();
    return announce(`Undone: ${this.told(item)}`);
  }

  kept(letter, decision) {
    this.settle(letter, decision);
    this.progress.refresh();
  }

  conflict(letter, decision, sentence) {
    this.settle(letter, decision);
    trouble(`${factWords(this.queue.find(keyOf(letter)) ?? letter)}: ${sentence} Yours was not kept.`);
    this.progress.refresh();
  }

  refused(letter, sentence) {
    this.settle(letter, null);
    trouble(`A decision was not kept: ${sentence}`);
  }

  /** What counts for a fact now, unless a later decision about it is on its way. */
  settle(fact, decision) {
    const key = keyOf(fact);
    const item = this.queue.find(key);
    if (!item || outbox.holds(key)) return;
    const mine = decision && item.waits && decision.number !== undefined && decision.id === fact.id;
    Object.assign(item, { decision, waits: false });
    if (!mine) this.undoable = this.undoable.filter((each) => each !== item);
    this.draw();
  }

  /** What others have decided since the last look. */
  async follow() {
    const lines = await getText("decisions", { after: this.after }).catch(() => "");
    const news = lines
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    for (const decision of news) {
      this.after = Math.max(this.after, decision.number);
      const item = this.queue.find(keyOf(decision));
      if (item && decision.number > (item.decision?.number ?? 0)) this.settle(decision, decision);
    }
    if (news.length) this.progress.refresh();
  }
}
