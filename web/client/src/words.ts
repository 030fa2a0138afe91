// The sentences of one language. Pure.

import { coveringTags } from "./vestibule.js";

/** A sentence, or its forms by plural category. */
export type Sentence = string | Partial<Record<Intl.LDMLPluralRule, string>>;
/** Sentences by key. */
export type Sentences = Readonly<Record<string, Sentence>>;

/** The first of these languages that covers one of the tags, of which the first counts most. `undefined` if there is none. */
export function matchLanguage(tags: readonly string[], languages: readonly string[]): string | undefined {
  const ranges = tags.flatMap(coveringTags);
  return ranges.map((range) => languages.find((language) => language.toLowerCase() === range)).find(Boolean);
}

// The locale where the browser names no region for the language.
const LOCALES: Record<string, string> = { ar: "ar-EG" };

/** The locale of a language for numbers and times: that of the browser, which knows the region. */
export function localeOf(language: string): string {
  // A browser may name a locale of the system that is none here, such as `en-US@posix`.
  const isRegional = (tag: string) => /^\w+(-\w+)+$/.test(tag) && coveringTags(tag).includes(language.toLowerCase());
  return navigator.languages.find(isRegional) ?? LOCALES[language] ?? language;
}

/** The sentences of one language that have no plural forms. */
export class Words {
  #sentences: Sentences;

  constructor(sentences: Sentences) {
    this.#sentences = sentences;
  }

  /** The sentence of a key with its values, or an empty one. `number` chooses the plural form. */
  text(key: string, values: Record<string, string> = {}, number = 0): string {
    return this.chooseForm(this.#sentences[key], number).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
  }

  // A key may come from a server. What it finds in every object, such as `constructor`, is no sentence.
  protected chooseForm(sentence: Sentence | undefined, _number: number): string {
    return typeof sentence === "string" ? sentence : "";
  }
}

/** The sentences of one language. */
export class PluralWords extends Words {
  readonly language: string;

  constructor(language: string, sentences: Sentences) {
    super(sentences);
    this.language = language;
  }

  protected override chooseForm(sentence: Sentence | undefined, number: number): string {
    const forms = Object(sentence) as Partial<Record<Intl.LDMLPluralRule, string>>;
    return super.chooseForm(sentence, number) || forms[new Intl.PluralRules(this.language).select(number)] || forms.other || "";
  }
}
