/* How far the review is, and whether the probabilities keep their promises so far. */

import { get } from "./api.js";
import { asBins, reliabilityChart } from "./charts.js";
import { count, fill, h } from "./dom.js";

/** Progress and live reliability; `refresh` asks the service for the numbers. */
export class Progress {
  constructor() {
    this.words = h("span", { id: "how-far" });
    this.bar = h("progress", { "aria-labelledby": "how-far", max: 1, value: 0 });
    this.element = h("div", { class: "progress" }, this.words, this.bar);
    this.kept = h("div", {});
    this.panel = h(
      "section",
      { class: "card", "aria-labelledby": "promises" },
      h("h2", { id: "promises" }, "Promised and right"),
      this.kept,
    );
    this.asked = 0;
  }

  async refresh() {
    const asked = (this.asked += 1);
    const summary = await get("decisions/summary").catch(() => null); // the next one will tell
    if (summary && asked === this.asked) this.show(summary);
  }

  show({ accepted, rejected, skipped, open, promised, right, reliability }) {
    const done = accepted + rejected + skipped;
    this.bar.max = Math.max(1, done + open);
    this.bar.value = done;
    this.words.textContent = `${count(done)} of ${count(done + open)} decided · ${count(accepted)} accepted · ${count(rejected)} rejected · ${count(skipped)} skipped`;
    const judged = accepted + rejected;
    if (!judged) {
      fill(
        this.kept,
        h(
          "p",
          { class: "quiet-text" },
          "When you have accepted or rejected some, this shows whether the probabilities were right.",
        ),
      );
      return;
    }
    const said = `Of ${count(judged)} decided, ${count(right)} were right; the probabilities promised ${promised.toFixed(1)}.`;
    const table = this.kept.querySelector("details")?.open; // opened by the reader: it stays so
    fill(this.kept, h("p", {}, said), reliabilityChart(asBins(reliability), said));
    this.kept.querySelector("details").open = Boolean(table);
  }
}
