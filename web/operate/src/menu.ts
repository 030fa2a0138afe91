// The button "More" and its list of orders, which opens and closes.

import { button, html } from "./dom.js";

/** One item of the list. `act` gets the element to which the focus returns. */
export interface MenuItem {
  readonly name: string;
  readonly text: string;
  readonly act: (opener: HTMLElement) => void;
}

/** A button that shows a list of buttons. The arrow keys move in it, and Escape closes it. */
export class Menu {
  constructor(
    box: HTMLElement,
    private readonly opener: HTMLElement,
    private readonly list: HTMLElement,
  ) {
    opener.addEventListener("click", () => (list.hidden ? this.#open() : this.#close()));
    box.addEventListener("keydown", (event) => this.#press(event));
    box.addEventListener("focusout", ({ relatedTarget }) => {
      if (!box.contains(relatedTarget as Node | null)) this.#close();
    });
    document.addEventListener("pointerdown", ({ target }) => {
      if (!box.contains(target as Node)) this.#close();
    });
  }

  /** Replaces the items. */
  fill(items: readonly MenuItem[]): void {
    const act = (item: MenuItem) => () => {
      this.#close();
      this.opener.focus();
      item.act(this.opener);
    };
    this.list.replaceChildren(...items.map((item) => html("li", {}, button(item.text, act(item), { "data-order": item.name }))));
  }

  get #buttons(): HTMLButtonElement[] {
    return [...this.list.querySelectorAll("button")];
  }

  #open(): void {
    this.list.hidden = false;
    this.opener.setAttribute("aria-expanded", "true");
  }

  #close(): void {
    this.list.hidden = true;
    this.opener.setAttribute("aria-expanded", "false");
  }

  #press(event: KeyboardEvent): void {
    if (event.key === "Escape" && !this.list.hidden) {
      this.#close();
      this.opener.focus();
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    this.#open();
    const buttons = this.#buttons;
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const next = at < 0 ? (step > 0 ? 0 : buttons.length - 1) : (at + step + buttons.length) % buttons.length;
    buttons[next]?.focus();
  }
}
