import type { Entry } from "./wire.js";
/** The operator's message, as answers have it. */
export type Messages = Pick<Entry, "message" | "messages">;
/**
 * The tags that cover a language tag, in lower case, the nearest first (lookup of RFC 4647, section 3.4). Chinese without a
 * script is in the likely one of its region, so `zh-hant` covers `zh-TW`.
 */
export declare function coveringTags(tag: string): string[];
/** The text in the first of the visitor's languages that the message has, or else the text for all others. */
export declare function chooseMessage({ message, messages }: Messages, languages?: readonly string[]): string;
/** The tag of the language that a text of the message is in. Empty if the message does not say it. */
export declare function languageOfText({ messages }: Messages, text: string): string;
