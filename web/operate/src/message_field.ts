// The field of a message: a text for each language that has one, and a way to add a language.

import PAGE_LANGUAGES from "virtual:page-languages";

import { html, button } from "./dom.js";
import type { Speech } from "./sentences.js";
import type { Message } from "./types.js";

const MESSAGE_CHARACTERS_MAX = 500;

/** The texts of a message in their order. A message of one text for all languages has the language "". */
export function toTexts(message: Message): [language: string, text: string][] {
  if (message === null) return [];
  return typeof message === "string" ? [["", message]] : Object.entries(message).filter(([language]) => language !== "default");
}

/**
 * The message of these texts without the empty ones; `null` if all are empty. `first` is the language of all others, as long as it
 * has a text.
 */
export function toMessage(texts: readonly (readonly [language: string, text: string])[], first = ""): Message {
  const filled = texts.map(([language, text]) => [language, text.trim()] as const).filter(([, text]) => text);
  if (filled.length === 0) return null;
  if (filled.length === 1 && filled[0]![0] === "") return filled[0]![1];
  const languages = filled.map(([language]) => language);
  return { default: languages.includes(first) ? first : languages[0]!, ...Object.fromEntries(filled) };
}

/** Makes the field. `change` gets the message after each change. `own` is the language of the operator. */
export function messageField(message: Message, own: string, { say, format }: Speech, change: (message: Message) => void): HTMLElement {
  const rows = html("div", { class: "texts" });
  const first = message && typeof message === "object" ? message["default"] : undefined;
  const tell = () => {
    const texts = [...rows.querySelectorAll("textarea")].map((area) => [area.name, area.value] as const);
    change(toMessage(texts, first));
  };
  const addText = (language: string, text: string) => {
    const area = html("textarea", { name: language, rows: "2", maxlength: MESSAGE_CHARACTERS_MAX, lang: language || undefined, dir: "auto" });
    area.value = text;
    rows.append(html("label", {}, html("span", {}, language ? format.language(language) : say("all_languages")), area));
    return area;
  };
  const add = html("input", { list: "languages", autocomplete: "off", spellcheck: "false", size: "12", "data-part": "add-language" });
  const addLanguage = () => {
    const typed = add.value.trim().toLowerCase();
    // Who types the name of a language means its tag.
    const language = (PAGE_LANGUAGES.find((tag) => format.language(tag).toLowerCase() === typed) ?? typed).toLowerCase();
    const has = rows.querySelector<HTMLTextAreaElement>(`textarea[name="${CSS.escape(language)}"]`);
    if (!/^[a-z]{2,3}(-[a-z0-9]{1,8})*$/.test(language)) return add.focus();
    // One text for all languages is from now on that of the operator's own.
    const forAll = rows.querySelector<HTMLTextAreaElement>('textarea[name=""]');
    if (forAll) {
      forAll.name = own;
      forAll.previousElementSibling!.textContent = format.language(own);
    }
    add.value = "";
    (has ?? addText(language, "")).focus();
    tell();
  };
  add.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    addLanguage();
  });
  rows.addEventListener("input", tell);
  const texts = toTexts(message);
  for (const [language, text] of texts.length ? texts : ([[own, ""]] as const)) addText(language, text);
  const names = html("datalist", { id: "languages" }, ...PAGE_LANGUAGES.map((tag) => html("option", { value: tag.toLowerCase() }, format.language(tag))));
  const adding = html("label", { class: "adding" }, html("span", {}, say("add_language")), add);
  return html("div", { class: "message" }, rows, html("div", { class: "add" }, adding, button(say("add"), addLanguage, { "data-part": "add" })), names);
}
