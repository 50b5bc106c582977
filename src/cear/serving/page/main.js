/* The page: which view an address means, the search in the header, and keys that work everywhere. */

import { ask } from "./ask.js";
import { Combobox } from "./combobox.js";
import { entityAddress, h, trouble } from "./dom.js";
import { entity } from "./entity.js";
import { onKeys, showKeys } from "./keys.js";
import { leaveReview, review } from "./review.js";
import { takeHome } from "./take_home.js";
import { trust } from "./trust.js";

const VIEWS = { ask, entity, review, trust, "take-home": takeHome };
const main = document.getElementById("main");
let turn = 0;

/** The view, its id and its parameters: #/entity/ID, #/ask?subject=… */
function address() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view, id = ""] = path.split(/\/(.*)/s);
  return { view: view in VIEWS ? view : "ask", id: decodeURIComponent(id), parameters: new URLSearchParams(search) };
}

async function show() {
  const { view, id, parameters } = address();
  const mine = (turn += 1);
  leaveReview();
  trouble("");
  mark(view);
  main.setAttribute("aria-busy", "true");
  const place = h("div", { class: `view ${view}` });
  try {
    const filling = VIEWS[view](place, parameters, id);
    if (mine > 1) main.replaceChildren(place);
    else main.append(place);
    const title = await filling;
    if (mine !== turn) return;
    document.title = `${title} · cear`;
  } catch (error) {
    if (mine !== turn) return;
    place.replaceChildren(
      h("h1", { tabindex: "-1" }, "This did not work"),
      h("p", { class: "wrong", role: "alert" }, error.message),
      h("button", { type: "button", class: "main", onclick: show }, "Try again"),
    );
  } finally {
    if (mine === turn) main.removeAttribute("aria-busy");
  }
  // Whoever came by a link or a key hears where they are; whoever types already is left alone.
  if (mine > 1 && !place.contains(document.activeElement))
    (place.querySelector(".asked") ?? place.querySelector("h1"))?.focus({ preventScroll: true });
  if (mine > 1) scrollTo(0, 0);
}

function mark(view) {
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

const finder = new Combobox({
  label: "Find an entity",
  hideLabel: true,
  path: "entities",
  group: "entities",
  placeholder: "Find an entity  /",
  chosen: (item) => {
    finder.set(null);
    finder.input.blur();
    location.hash = entityAddress(item);
  },
});
document.getElementById("find").append(finder.element);
document.getElementById("keys").addEventListener("click", showKeys);
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address belongs to the views
  main.focus();
});
onKeys({ "/": () => finder.input.focus(), "?": showKeys });
addEventListener("hashchange", show);
show();
