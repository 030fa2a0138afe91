/**
 * The sentences that the element says, of web/lang: those in English, and what loads another language. `session` has what is
 * said in an active session instead. build.mjs makes it.
 */
declare module "virtual:sentences" {
  type Texts = Readonly<Record<string, string>>;
  export type ElementSentences = Texts & { readonly session: Texts };
  export const ENGLISH: ElementSentences;
  export const LOADERS: Readonly<Record<string, () => Promise<{ default: ElementSentences }>>>;
}

/** A style as a text. */
declare module "*.css" {
  const text: string;
  export default text;
}
