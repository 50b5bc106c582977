/* Elements built by hand: everything that comes from the knowledge base becomes text, never markup. */

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children. `on…` are listeners; strings and numbers become text; null is left out. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same in SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...present(children));
  return element;
}

/** Put these children in the place of those that are there. */
export function fill(element, ...children) {
  element.replaceChildren(...present(children));
}

function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/** A name of the knowledge base, in whatever direction it is written. */
export function name(thing) {
  return h("bdi", {}, named(thing).name);
}

/** A thing with id and name, also where only an id was given. */
export function named(thing) {
  if (thing === null || thing === undefined) return { id: "", name: "?" };
  return typeof thing === "string" ? { id: thing, name: thing } : { id: thing.id, name: thing.name || thing.id };
}

/** Where an entity's page is. */
export function entityAddress(thing) {
  return `#/entity/${encodeURIComponent(named(thing).id)}`;
}

/** An entity's name as a link to its page. */
export function entityLink(thing) {
  return h("a", { href: entityAddress(thing) }, name(thing));
}

/** A fact in a line, its ends as links. */
export function factLine({ subject, relation, object }) {
  return [entityLink(subject), " ", h("span", { class: "relation" }, name(relation)), " ", entityLink(object)];
}

/** A fact as plain words, for announcements and labels. */
export function factWords({ subject, relation, object }) {
  return [subject, relation, object].map((each) => named(each).name).join(" – ");
}

/** A fact from {subject, relation, object} or [subject, relation, object]. */
export function asFact(fact) {
  return Array.isArray(fact) ? { subject: fact[0], relation: fact[1], object: fact[2] } : fact;
}

/** A probability as people write it; never as certain as 0 % or 100 %. */
export function percent(share) {
  if (share === null || share === undefined) return "–";
  if (share >= 0.9995) return "> 99.9 %";
  if (share < 0.0005) return "< 0.1 %";
  const digits = share >= 0.99 || share < 0.01 ? 1 : 0;
  return `${(100 * share).toFixed(digits)} %`;
}

/** A count with its thousands apart. */
export function count(number) {
  return number.toLocaleString("en");
}

/** A probability as a bar with its number. */
export function chance(share) {
  const fill = h("span", { class: "bar-fill" });
  // Through the object model: the content security policy forbids style attributes.
  fill.style.setProperty("--share", share ?? 0);
  return h(
    "span",
    { class: "chance" },
    h("span", { class: "bar", "aria-hidden": "true" }, fill),
    h("span", { class: "number" }, percent(share)),
  );
}

/** A text of so many characters at most, never cut inside one. */
export function shortened(text, most) {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
}

/** Whatever is said here is read out by a screen reader. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}

/** A sentence about what went wrong, above the view, until it is closed; an empty one takes it away. */
export function trouble(text) {
  const place = document.getElementById("trouble");
  const close = h("button", { type: "button", class: "quiet", onclick: () => trouble("") }, "Close");
  fill(place, h("span", {}, text), text ? close : null);
  place.hidden = !text;
}

/** A button that opens and closes what it is about; `filling` is called when it is opened for the first time. */
export function disclosure(label, panel, filling, attributes = {}) {
  panel.id ||= `panel-${crypto.getRandomValues(new Uint32Array(1))[0]}`;
  panel.hidden = true;
  const button = h(
    "button",
    { type: "button", class: "quiet", "aria-expanded": "false", "aria-controls": panel.id, ...attributes },
    label,
  );
  button.addEventListener("click", () => {
    panel.hidden = !panel.hidden;
    button.setAttribute("aria-expanded", String(!panel.hidden));
    if (!panel.hidden && !panel.hasChildNodes()) filling(panel);
  });
  return button;
}
