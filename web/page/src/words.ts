// The sentences of the page, which stand in it, with those of a theme over them.

import { readStored, writeStored } from "./stored.js";
import type { Theme } from "./theme.js";
import { part } from "./view.js";

/** A sentence, or its forms by plural category. */
type Sentence = string | Partial<Record<Intl.LDMLPluralRule, string>>;
/** The sentences of a language by key. */
export type Sentences = Record<string, Sentence>;

const STORED_LANGUAGE = "vestibule:language";
// The locale where the browser names no region for the language.
const LOCALES: Record<string, string> = { ar: "ar-EG" };

const primaryTag = (tag: string) => tag.toLowerCase().split("-")[0];

/**
 * The language that the visitor chose by hand before, if the page exists in it. `null` if the address names it already: then
 * the server has no page in it.
 */
export function chosenLanguage(linked: string | null): string | null {
  const chosen = readStored(STORED_LANGUAGE);
  const isOffered = [...part<HTMLSelectElement>("language").options].some(({ value }) => value === chosen);
  return isOffered && chosen !== linked && chosen !== document.documentElement.lang ? chosen : null;
}

/** Shows the page in another language, which is kept. The parameters of the address stay, and so does `fragment`. */
export function showIn(language: string, fragment: string): void {
  writeStored(STORED_LANGUAGE, language);
  const address = new URL(location.href);
  address.searchParams.set("lang", language);
  address.hash = fragment;
  history.replaceState(history.state, "", address);
  location.reload();
}

/** The locale of a language for numbers and times: that of the browser, which knows the region. */
export function localeOf(language: string): string {
  return navigator.languages.find((tag) => tag.includes("-") && primaryTag(tag) === language) ?? LOCALES[language] ?? language;
}

/** The sentences of one language. */
export class Words {
  readonly language: string;
  #sentences: Sentences;
  #plural: Intl.PluralRules;

  constructor(language: string, sentences: Sentences) {
    this.language = language;
    this.#sentences = sentences;
    this.#plural = new Intl.PluralRules(language);
  }

  /** Those of the page. A theme's texts replace them; its texts for `default` are for every language. */
  static read(language: string, { texts = {} }: Theme): Words {
    const sentences = JSON.parse(part("sentences").textContent!) as Sentences;
    return new Words(language, { ...sentences, ...texts["default"], ...texts[language] });
  }

  /** The sentence of a key with its values, or an empty one. `number` chooses the plural form. */
  text(key: string, values: Record<string, string> = {}, number = 0): string {
    const sentence = this.#sentences[key] ?? "";
    const form = typeof sentence === "string" ? sentence : (sentence[this.#plural.select(number)] ?? sentence.other ?? "");
    return form.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
  }
}
