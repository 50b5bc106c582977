/* A text field that suggests what the service knows (ARIA combobox with a list). */

import { get } from "./api.js";
import { announce, h, name } from "./dom.js";

const STILL = 120; // milliseconds without a keystroke before the service is asked
let made = 0;

/**
 * A field with suggestions from `path`, which answers {[group]: [{id, name, …}]}.
 *
 * `more(item)` is a second line of a suggestion. Enter takes the marked suggestion, at first the best one; what was typed
 * and not taken stands as it is, and the service decides what it means. `chosen(item)` is called when one is taken.
 */
export class Combobox {
  constructor({
    label,
    path,
    group,
    more = (item) => item.description,
    chosen = () => {},
    hideLabel = false,
    placeholder = "",
    soon = false,
  }) {
    const id = `choice-${(made += 1)}`;
    Object.assign(this, {
      path,
      group,
      more,
      chosen,
      soon,
      items: [],
      marked: -1,
      item: null,
      waiting: null,
      asking: null,
    });
    this.list = h("ul", { id: `${id}-list`, role: "listbox", class: "suggestions", "aria-label": label, hidden: true });
    this.input = h("input", {
      id,
      type: "text",
      role: "combobox",
      placeholder,
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      dir: "auto",
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": `${id}-list`,
      oninput: () => this.typed(),
      onkeydown: (event) => this.pressed(event),
      onclick: () => this.soon && this.list.hidden && this.suggest(),
      onblur: () => this.close(),
    });
    const labelled = h("label", { for: id, class: hideLabel ? "unseen" : "" }, label);
    this.element = h("div", { class: "combobox" }, labelled, this.input, this.list);
  }

  /** What the field means to the service: the id of what was taken, or the text. */
  get value() {
    return this.item ? this.item.id : this.input.value.trim();
  }

  /** Show this thing as taken, or nothing. */
  set(item) {
    this.item = item;
    this.input.value = item ? item.name : "";
    this.close();
  }

  typed() {
    this.item = null;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.suggest(), STILL);
  }

  async suggest() {
    this.asking?.abort();
    clearTimeout(this.waiting);
    const q = this.item ? "" : this.input.value.trim();
    if (!q && !this.soon) return this.close();
    const asking = (this.asking = new AbortController());
    try {
      const found = await get(this.path, { q, limit: 10 }, { signal: asking.signal });
      if (asking === this.asking && document.activeElement === this.input) this.show(found[this.group], q);
    } catch (error) {
      if (error.name !== "AbortError") this.close();
    }
  }

  show(items, q) {
    this.items = items.slice(0, q ? 10 : 50);
    this.list.replaceChildren(...this.items.map((item, place) => this.option(item, place)));
    if (!items.length)
      this.list.append(
        h(
          "li",
          { class: "nothing", role: "option", "aria-disabled": "true", "aria-selected": "false" },
          "Nothing is called so.",
        ),
      );
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.mark(q && items.length ? 0 : -1);
    announce(items.length === 1 ? "One suggestion." : `${items.length} suggestions.`);
  }

  option(item, place) {
    const more = this.more(item);
    return h(
      "li",
      {
        id: `${this.input.id}-${place}`,
        role: "option",
        "aria-selected": "false",
        onpointerdown: (event) => event.preventDefault(), // the field keeps the focus
        onclick: () => this.take(item),
      },
      h("span", { class: "suggested" }, name(item)),
      more ? h("span", { class: "about" }, h("bdi", {}, more)) : null,
    );
  }

  mark(place) {
    this.marked = place;
    [...this.list.children].forEach((option, at) => option.setAttribute("aria-selected", String(at === place)));
    const option = this.items.length ? this.list.children[place] : undefined;
    if (option) this.input.setAttribute("aria-activedescendant", option.id);
    else this.input.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  }

  pressed(event) {
    const open = !this.list.hidden && this.items.length > 0;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open) this.suggest();
      else this.mark((this.marked + (event.key === "ArrowDown" ? 1 : -1) + this.items.length) % this.items.length);
    } else if (event.key === "Enter" && open && this.marked >= 0) {
      event.preventDefault();
      this.take(this.items[this.marked]);
    } else if (event.key === "Escape" && !this.list.hidden) {
      event.stopPropagation();
      this.close();
    }
  }

  take(item) {
    this.set(item);
    this.chosen(item);
  }

  close() {
    clearTimeout(this.waiting);
    this.asking?.abort();
    this.list.hidden = true;
    this.items = [];
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }
}
