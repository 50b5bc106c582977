/* The proposals of a review, as far as they are loaded, and where the reviewer stands. */

import { get } from "./api.js";
import { named } from "./dom.js";
import { keyOf } from "./outbox.js";

const PAGE = 50;
const FEW = 8; // open ones ahead before more are fetched

/** The verdict that counts for a proposal, or null while it is open. */
export function verdictOf({ decision }) {
  return decision && decision.verdict !== "undone" ? decision.verdict : null;
}

/** The ids of a proposal's fact. */
export function idsOf({ subject, relation, object }) {
  return { subject: named(subject).id, relation: named(relation).id, object: named(object).id };
}

/** Proposals by filters {relation, min_probability, order, state}. Those that are decided stay until a reload. */
export class Queue {
  constructor(filters) {
    Object.assign(this, {
      filters,
      items: [],
      byKey: new Map(),
      total: 0,
      note: "",
      after: null,
      at: 0,
      ended: false,
      loading: null,
    });
  }

  /** The proposal in front of the reviewer. */
  get current() {
    return this.items[this.at];
  }

  /** The proposal with this fact, if it is loaded. */
  find(key) {
    return this.byKey.get(key);
  }

  /** Fetch the next page, once at a time. */
  more() {
    this.loading ??= this.fetchMore().finally(() => {
      this.loading = null;
    });
    return this.loading;
  }

  async fetchMore() {
    if (this.ended) return;
    // Behind a place, not after a number of proposals: what is decided meanwhile neither hides nor doubles one.
    const { proposals, after, total, note } = await get("proposals", {
      ...this.filters,
      after: this.after,
      limit: PAGE,
    });
    Object.assign(this, { total, note, after, ended: after === null || after === undefined });
    for (const each of proposals) {
      const key = keyOf(idsOf(each));
      if (this.byKey.has(key)) continue;
      this.items.push(each);
      this.byKey.set(key, each);
    }
  }

  /** Go this many proposals on, or back. */
  async step(by) {
    if (by > 0 && this.at + by >= this.items.length) await this.more();
    this.at = Math.max(0, Math.min(this.items.length - 1, this.at + by));
  }

  /** Go to the next one that is open; false if there is none any more. */
  async advance() {
    const ahead = () => this.items.findIndex((item, place) => place > this.at && verdictOf(item) === null);
    const left = this.items.slice(this.at + 1).filter((item) => verdictOf(item) === null).length;
    if (left === 0) await this.more();
    else if (left < FEW) this.more().catch(() => {}); // in the background: there is something to do meanwhile
    const next = ahead();
    const place = next >= 0 ? next : this.items.findIndex((item) => verdictOf(item) === null);
    if (place >= 0) this.at = place;
    return place >= 0;
  }

  /** Put the reviewer before this proposal. */
  goTo(item) {
    this.at = Math.max(0, this.items.indexOf(item));
  }
}
