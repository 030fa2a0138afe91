// Which text of the operator's message a visitor reads.

import type { Entry } from "./wire.js";

/** The operator's message, as answers have it. */
export type Messages = Pick<Entry, "message" | "messages">;

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
