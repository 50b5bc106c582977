/* Decisions on their way: sent one after the other, each until it is acknowledged, over a service that dies in between. */

import { passing, pause, post } from "./api.js";

const KEPT = "cear.outbox"; // of this tab: what was decided survives a reload
const LONGEST = 8; // seconds between two tries

/** An id that no other decision has. */
export function freshId() {
  // Not crypto.randomUUID: it is missing where the page comes over plain HTTP from another machine.
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** One word for a fact. */
export function keyOf({ subject, relation, object }) {
  return JSON.stringify([subject, relation, object]);
}

/**
 * The decisions of this tab that are not acknowledged yet, in their order.
 *
 * Each has an id of its own, so that sending it again keeps it once. `seen` is the number of the decision about the fact
 * that its maker knew of; what is acknowledged meanwhile counts as seen, because it was made here.
 */
export class Outbox {
  constructor({ kept, conflict, refused, waiting }) {
    Object.assign(this, { kept, conflict, refused, waiting, sending: null, numbers: new Map() });
    this.letters = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
  }

  /** How many are not acknowledged. */
  get size() {
    return this.letters.length;
  }

  /** Take a decision {subject, relation, object, verdict, note, who, seen}; gives back its id at once. */
  add(decision) {
    const letter = { ...decision, id: freshId() };
    this.letters.push(letter);
    this.keep();
    this.send();
    return letter.id;
  }

  /** Send what waits; one letter at a time, so that an undo never overtakes what it undoes. */
  send() {
    this.sending ??= this.sendAll().finally(() => {
      this.sending = null;
    });
    return this.sending;
  }

  async sendAll() {
    let told = false;
    for (let tried = 0; this.letters.length;) {
      const letter = this.letters[0];
      try {
        this.done(
          letter,
          await post("decisions", { ...letter, seen: Math.max(letter.seen, this.numbers.get(keyOf(letter)) ?? 0) }),
        );
        tried = 0;
      } catch (error) {
        if (passing(error)) {
          tried += 1;
          told = true;
          this.waiting(this.size);
          await pause(Math.min(0.5 * 2 ** tried, LONGEST));
        } else this.returned(letter, error);
      }
    }
    if (told) this.waiting(0);
  }

  done(letter, decision) {
    this.numbers.set(keyOf(letter), decision.number);
    this.drop(letter);
    this.kept(letter, decision);
  }

  /** Somebody was faster, or the service wants none of it: the others go on. */
  returned(letter, error) {
    // Also what was decided about the same fact afterwards: an undo would take back what somebody else has decided.
    this.letters = this.letters.filter((each) => keyOf(each) !== keyOf(letter));
    this.keep();
    if (error.status === 409 && error.body.decision) this.conflict(letter, error.body.decision, error.message);
    else this.refused(letter, error.message);
  }

  /** Whether a decision about a fact waits. */
  holds(key) {
    return this.letters.some((each) => keyOf(each) === key);
  }

  drop(letter) {
    this.letters = this.letters.filter((each) => each !== letter);
    this.keep();
  }

  keep() {
    sessionStorage.setItem(KEPT, JSON.stringify(this.letters));
  }
}
