// The languages of the console: which one the operator reads, and their files of sentences.

import LANGUAGES from "virtual:languages";
import { PluralWords, matchLanguage, type Words, type Sentences } from "../../client/src/words.js";
import { readStored, writeStored } from "../../client/src/stored.js";

const STORED_LANGUAGE = "vestibule:language";
const RETRY_MS = 2_000;

/** The names of all languages by tag. */
export const languageNames = (): [tag: string, name: string][] =>
  Object.entries(LANGUAGES).map(([tag, { name }]) => [tag, name]);

/** The language that the operator chose by hand, or the first one of the browser that exists. */
export function chooseLanguage(): string {
  const wanted = [readStored(STORED_LANGUAGE) ?? "", ...navigator.languages];
  return matchLanguage(wanted, Object.keys(LANGUAGES)) ?? "en";
}

/** Keeps the language that the operator has chosen. */
export const storeLanguage = (language: string): void => writeStored(STORED_LANGUAGE, language);

/** Loads the sentences of a language. */
export async function loadWords(language: string): Promise<Words> {
  const address = new URL(LANGUAGES[language]!.path, import.meta.url);
  for (;;) {
    const response = await fetch(address).catch(() => undefined);
    if (response?.ok) return new PluralWords(language, (await response.json()) as Sentences);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
