/* Letters as commands, and the dialog that lists them. */

import { h } from "./dom.js";

const OFF = "cear.letters-off";
const commands = new Map();

const LISTED = [
  [
    "Anywhere",
    [
      ["/", "find an entity"],
      ["?", "this list"],
      ["Esc", "leave a field or a dialog"],
    ],
  ],
  [
    "In Review",
    [
      ["j", "next proposal"],
      ["k", "previous proposal"],
      ["a", "accept"],
      ["r", "reject"],
      ["s", "skip"],
      ["u", "undo your last decision"],
      ["n", "write a note"],
      ["w", "why: all reasons"],
    ],
  ],
];

/** Let these keys {letter: function} call their functions until the returned function is called. */
export function onKeys(map) {
  for (const [key, call] of Object.entries(map)) commands.set(key, call);
  return () => {
    for (const [key, call] of Object.entries(map)) if (commands.get(key) === call) commands.delete(key);
  };
}

/** Whether letters are commands; who speaks to the computer may switch them off. */
function lettersOn() {
  return localStorage.getItem(OFF) === null;
}

function typing(element) {
  return element.closest("input:not([type=checkbox]), textarea, select, dialog, [contenteditable]") !== null;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.repeat && event.key !== "j" && event.key !== "k") return; // a key that is held decides once
  const call = commands.get(event.key);
  if (!call || typing(event.target) || !lettersOn()) return;
  event.preventDefault();
  call();
});

/** Show the keys. */
export function showKeys() {
  const box = h("input", {
    type: "checkbox",
    id: "letters",
    onchange: () => (box.checked ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, "1")),
  });
  box.checked = lettersOn();
  const row = ([key, does]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, does));
  const dialog = h(
    "dialog",
    { "aria-labelledby": "keys-title", onclose: () => dialog.remove() },
    h("h2", { id: "keys-title" }, "Keys"),
    LISTED.map(([where, keys]) => [h("h3", {}, where), h("dl", { class: "keys" }, keys.map(row))]),
    h("p", { class: "check" }, box, h("label", { for: "letters" }, "Letters are commands")),
    h("form", { method: "dialog", class: "row end" }, h("button", { class: "main" }, "Close")),
  );
  document.body.append(dialog);
  dialog.showModal();
}
