// The sentences of the page in the visitor's language: files of lang/, with those of a theme over them.

import LANGUAGES from "virtual:languages";
import { readStored, writeStored } from "./stored.js";
import type { Theme } from "./theme.js";

/** A sentence, or its forms by plural category. */
type Sentence = string | Partial<Record<Intl.LDMLPluralRule, string>>;
/** The sentences of a language by key. */
type Sentences = Record<string, Sentence>;

const STORED_LANGUAGE = "vestibule:language";
const RETRY_MS = 2_000;
// The locale where the browser names no region for the language.
const LOCALES: Record<string, string> = { ar: "ar-EG" };

const primaryTag = (tag: string | null | undefined) => tag?.toLowerCase().split("-")[0] ?? "";

/** The names of all languages by tag. */
export const languageNames = (): [tag: string, name: string][] =>
  Object.entries(LANGUAGES).map(([tag, { name }]) => [tag, name]);

/** The language that the visitor chose by hand, or that the link names, or the first one of the browser that exists. */
export function chooseLanguage(linked: string | null): string {
  const wanted = [readStored(STORED_LANGUAGE), linked, ...navigator.languages];
  return wanted.map(primaryTag).find((tag) => tag in LANGUAGES) ?? "en";
}

/** Keeps the language that the visitor has chosen. */
export const storeLanguage = (language: string): void => writeStored(STORED_LANGUAGE, language);

/** The locale of a language for numbers and times: that of the browser, which knows the region. */
export function localeOf(language: string): string {
  return navigator.languages.find((tag) => tag.includes("-") && primaryTag(tag) === language) ?? LOCALES[language] ?? language;
}

async function fetchSentences(language: string): Promise<Sentences> {
  const address = new URL(LANGUAGES[language]!.path, import.meta.url);
  for (;;) {
    const response = await fetch(address).catch(() => undefined);
    if (response?.ok) return response.json();
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
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

  /** Loads a language. A theme's texts replace those of the page; its texts for `default` are for every language. */
  static async load(language: string, { texts = {} }: Theme): Promise<Words> {
    const sentences = await fetchSentences(language);
    return new Words(language, { ...sentences, ...texts["default"], ...texts[language] });
  }

  /** The sentence of a key with its values, or an empty one. `number` chooses the plural form. */
  text(key: string, values: Record<string, string> = {}, number = 0): string {
    const sentence = this.#sentences[key] ?? "";
    const form = typeof sentence === "string" ? sentence : (sentence[this.#plural.select(number)] ?? sentence.other ?? "");
    return form.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
  }
}
