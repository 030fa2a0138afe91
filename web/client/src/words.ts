// The sentences of one language. Pure.

/** A sentence, or its forms by plural category. */
export type Sentence = string | Partial<Record<Intl.LDMLPluralRule, string>>;
/** Sentences by key. */
export type Sentences = Readonly<Record<string, Sentence>>;

/**
 * The tags that cover a language tag, in lower case, the nearest first (lookup of RFC 4647, section 3.4). Chinese without a
 * script is in the likely one of its region, so `zh-hant` covers `zh-TW`.
 */
export function coveringTags(tag: string): string[] {
  const tags = [tag.toLowerCase().replaceAll("_", "-")];
  const withScript = (_: string, isTraditional?: string) => (isTraditional ? "zh-hant" : "zh-hans");
  let range = tags[0]!.replace(/^zh\b(?!-han)(.*-(tw|hk|mo)\b)?.*/, withScript);
  for (; range; range = range.replace(/-?[^-]*$/, "")) tags.push(range);
  return tags;
}

/** The one of these languages that covers a tag. `undefined` if there is none. */
export function matchLanguage(tag: string, languages: readonly string[]): string | undefined {
  const tags = coveringTags(tag);
  return tags.map((range) => languages.find((language) => language.toLowerCase() === range)).find(Boolean);
}

// The locale where the browser names no region for the language.
const LOCALES: Record<string, string> = { ar: "ar-EG" };

/** The locale of a language for numbers and times: that of the browser, which knows the region. */
export function localeOf(language: string): string {
  // A browser may name a locale of the system that is none here, such as `en-US@posix`.
  const isRegional = (tag: string) => /^\w+(-\w+)+$/.test(tag) && coveringTags(tag).includes(language.toLowerCase());
  return navigator.languages.find(isRegional) ?? LOCALES[language] ?? language;
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

  /** The sentence of a key with its values, or an empty one. `number` chooses the plural form. */
  text(key: string, values: Record<string, string> = {}, number = 0): string {
    const sentence = this.#sentences[key] ?? "";
    // A key may come from a server. What it finds in every object, such as `constructor`, has no forms.
    const form = typeof sentence === "string" ? sentence : (sentence[this.#plural.select(number)] ?? sentence.other ?? "");
    return form.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
  }
}
