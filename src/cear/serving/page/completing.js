/* A run that proposes nothing yet: its completion as a job of the service, watched until it ends. */

import { get, pause, post } from "./api.js";
import { fill, h } from "./dom.js";

const EVERY = 1; // seconds between two looks at the job

/** A button that has the run completed; `done` is called when there is something to review. */
export function completing(done) {
  const place = h("div", { class: "completing", role: "status" });
  const start = h(
    "button",
    { type: "button", class: "main", onclick: () => complete(place, done) },
    "Look for missing facts",
  );
  fill(place, start);
  return place;
}

async function complete(place, done) {
  try {
    await watch(place, await post("complete", {}));
    done();
  } catch (error) {
    fill(place, h("p", { class: "wrong" }, error.message));
  }
}

async function watch(place, job) {
  const words = h("span", { id: "job" });
  const bar = h("progress", { "aria-labelledby": "job" });
  fill(place, words, bar);
  for (let now = job; ; now = await get(`complete/${encodeURIComponent(job.job)}`)) {
    words.textContent = `${now.doing || "Looking"} …`;
    if (now.steps) Object.assign(bar, { max: now.steps, value: now.done });
    else bar.removeAttribute("value"); // nobody knows yet how much it is
    if (now.state === "done") return;
    if (now.state !== "running") throw new Error(now.error || "The job was ended before it was done.");
    await pause(EVERY);
  }
}
