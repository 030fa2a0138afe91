// The sentences of the page, which stand in it, with those of a theme over them, and the choice of another language.

import { PluralWords, type Sentences } from "../../client/src/words.js";
import { readStored, writeStored } from "../../client/src/stored.js";
import { themeTags, type Theme } from "./theme.js";
import { part } from "./view.js";

const STORED_LANGUAGE = "vestibule:language";

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

/** The sentences of the page, with those of the theme. */
export const readWords = (language: string, theme: Theme): PluralWords =>
  withTheme(language, JSON.parse(part("sentences").textContent!) as Sentences, theme);

/** Sentences with the texts of a theme over them. What only the theme's English has is in English. */
export function withTheme(language: string, sentences: Sentences, { texts = {} }: Theme): PluralWords {
  const [english, ...others] = themeTags(language).map((tag) => texts[tag]);
  return new PluralWords(language, Object.assign({}, english, sentences, ...others));
}
