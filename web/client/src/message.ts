// Which text of the operator's message a visitor reads.

import { coveringTags } from "./words.js";

/** The operator's message, as answers have it. */
export interface Messages {
  /** The text for visitors whose languages have none of their own. */
  readonly message?: string;
  /** The texts by language tag in lower case. */
  readonly messages?: Readonly<Record<string, string>>;
}

/** The text in the first of the visitor's languages that the message has, or else the text for all others. */
export function chooseMessage(
  { message = "", messages = {} }: Messages,
  languages: readonly string[] = globalThis.navigator?.languages ?? [],
): string {
  const tag = languages.flatMap(coveringTags).find((range) => Object.hasOwn(messages, range));
  return (tag && messages[tag]) || message;
}

/** The tag of the language that a text of the message is in. Empty if the message does not say it. */
export function languageOfText({ messages = {} }: Messages, text: string): string {
  return Object.keys(messages).find((tag) => messages[tag] === text) ?? "";
}
