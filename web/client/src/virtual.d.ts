/** The sentences that the element says, of web/lang: those in English, and what loads another language. build.mjs makes it. */
declare module "virtual:sentences" {
  type ElementSentences = Readonly<Record<string, string>>;
  export const ENGLISH: ElementSentences;
  export const LOADERS: Readonly<Record<string, () => Promise<{ default: ElementSentences }>>>;
}

/** A style as a text. */
declare module "*.css" {
  const text: string;
  export default text;
}
