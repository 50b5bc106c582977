/* The token of a service that is reached from elsewhere: asked once, kept until the browser's tab is closed. */

import { h } from "./dom.js";

const KEPT = "cear.token";
let asking = null; // all requests that are refused meanwhile wait for the same answer

/** The token that was entered, or null. */
export function keptToken() {
  return sessionStorage.getItem(KEPT);
}

/** Resolves when there is another token than the one that was refused. */
export function askForToken(refused) {
  const now = keptToken();
  if (now !== null && now !== refused) return Promise.resolve();
  asking ??= asked(refused !== null).finally(() => {
    asking = null;
  });
  return asking;
}

function asked(again) {
  const input = h("input", {
    type: "password",
    id: "token",
    required: true,
    autocomplete: "off",
    "aria-describedby": "token-why",
  });
  const why = again
    ? "The token is not accepted, or not any more. Ask whoever runs the service for a new one."
    : "This service wants a token. Whoever runs it has set one.";
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", { id: "token-title" }, "Token"),
    h("p", { id: "token-why" }, why),
    h("label", { for: "token" }, "Token"),
    input,
    h("div", { class: "row end" }, h("button", { class: "main" }, "Enter")),
  );
  const dialog = h("dialog", { "aria-labelledby": "token-title" }, form);
  dialog.addEventListener("cancel", (event) => event.preventDefault()); // nothing can be shown without it
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    form.addEventListener("submit", () => {
      sessionStorage.setItem(KEPT, input.value.trim());
      dialog.remove();
      resolve();
    });
  });
}
