// Puts a screen into the page. Texts of the server are shown as text, never as markup.

import type { Screen } from "./screen.js";

/** A part of the page by its name. */
export const part = <T extends HTMLElement = HTMLElement>(name: string): T =>
  document.querySelector<T>(`[data-part="${name}"]`)!;

/** Sets a text, and hides the part if it is empty. */
export function setText(name: string, text: string): void {
  const element = part(name);
  element.hidden = text === "";
  if (element.textContent !== text) element.textContent = text;
}

const ACTIONS = ["claim", "target", "extend", "undo", "join", "done", "leave"] as const;
const FADE = [{ opacity: 0, translate: "0 6px" }, { opacity: 1, translate: "0" }];
const FADE_MS = 320;

/** Shows a screen. */
export function showScreen(screen: Screen, message: string, strip: string): void {
  const { body, activeElement: focused } = document;
  // Before the opening, the same screen comes twice: by the public document, and then with the rows of the visitor's place.
  const before = body.dataset["state"];
  const isNew = before !== screen.name || part("alert-row").hidden === screen.isInLine;
  // Without boxes for a moment, the new screen is no shift of the old one. A call, because a build leaves out what only reads.
  if (isNew) part("main").hidden = true;
  if (isNew) body.getBoundingClientRect();
  body.dataset["state"] = screen.name;
  for (const name of ["headline", "detail", "range", "clock", "updated", "hint", "ahead", "behind"] as const) setText(name, screen[name]);
  setText("number", screen.number);
  setText("message", message);
  setText("strip", strip);
  part("join").textContent = screen.joinText;
  part("undo").textContent = screen.undoText;
  showRows(screen);
  part("main").hidden = false;
  // The file says "One moment" already, and the theme may move it.
  if (isNew && before !== "none" && !matchMedia("(prefers-reduced-motion: reduce)").matches) part("main").animate(FADE, FADE_MS);
  if (focused && focused !== body && !(focused as HTMLElement).offsetParent) part("headline").focus({ preventScroll: true });
}

function showRows({ name, number, ahead, behind, range, updated, actions, isInLine }: Screen): void {
  part("number-row").hidden = !number;
  part("number-row").style.setProperty("--digits", String(number.length));
  part("number-row").classList.toggle("timer", name === "before");
  part("beside").hidden = !ahead && !behind;
  part("when").hidden = !range;
  part("live").hidden = !updated;
  part("alert-row").hidden = !isInLine;
  for (const action of ACTIONS) part(action).hidden = !actions.includes(action);
  part("actions").hidden = !actions.some((action) => action !== "leave");
}

/** Shows the words that no state changes. */
export function showWords(text: (key: string) => string): void {
  for (const element of document.querySelectorAll<HTMLElement>("[data-text]")) {
    element.textContent = text(element.dataset["text"]!);
  }
}
