// Small pieces of the document. Texts are shown as text, never as markup.

/** A child of an element. */
export type Child = Node | string | null | undefined | false;
/** The attributes of an element. `false` and `undefined` leave one out, and `true` sets it without a value. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

const SVG = "http://www.w3.org/2000/svg";

/** A part of the page by its name. */
export const part = <T extends HTMLElement = HTMLElement>(name: string): T =>
  document.querySelector<T>(`[data-part="${name}"]`)!;

function fill<T extends Element>(element: T, attributes: Attributes, children: readonly Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => child instanceof Node || typeof child === "string"));
  return element;
}

/** Makes an element of HTML. */
export const html = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] => fill(document.createElement(tag), attributes, children);

/** Makes an element of SVG. */
export const svg = (tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement =>
  fill(document.createElementNS(SVG, tag) as SVGElement, attributes, children);

/** Makes a button that runs an action. */
export function button(text: string, action: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const made = html("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", action);
  return made;
}

/** Sets a text if it differs, so that a screen reader does not read it again. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets a text, and hides the element if it is empty. */
export function showText(element: HTMLElement, text: string): void {
  element.hidden = text === "";
  setText(element, text);
}

/** Updates a list of elements by key in place, so that none loses the focus. */
export function updateList<T>(
  list: HTMLElement,
  items: readonly T[],
  keyOf: (item: T) => string,
  make: (item: T) => HTMLElement,
  update: (element: HTMLElement, item: T) => void,
): void {
  const old = new Map([...list.children].map((child) => [(child as HTMLElement).dataset["key"]!, child as HTMLElement]));
  items.forEach((item, n) => {
    const key = keyOf(item);
    const element = old.get(key) ?? make(item);
    element.dataset["key"] = key;
    old.delete(key);
    update(element, item);
    if (list.children[n] !== element) list.insertBefore(element, list.children[n] ?? null);
  });
  for (const element of old.values()) element.remove();
}
