// Which text of the operator's message a visitor reads.

/** The operator's message, as answers have it. */
export interface Messages {
  /** The text for visitors whose languages have none of their own. */
  readonly message?: string;
  /** The texts by language tag in lower case. */
  readonly messages?: Readonly<Record<string, string>>;
}

/**
 * The text in the first of the visitor's languages that the message has, or else the text for all others. A visitor of
 * `zh-Hant-TW` reads `zh-hant`, or else `zh` (lookup of RFC 4647, section 3.4).
 */
export function chooseMessage(
  { message = "", messages = {} }: Messages,
  languages: readonly string[] = globalThis.navigator?.languages ?? [],
): string {
  for (const language of languages) {
    for (let tag = language.toLowerCase(); tag; tag = tag.replace(/-?[^-]*$/, "")) {
      const text = messages[tag];
      if (text) return text;
    }
  }
  return message;
}
