// Builds the waiting page into dist/, which is committed, or with --tests its unit tests into build/:
//
//   pages/TAG.html        the page in one language, with its script, its style and its sentences in it
//   theme.css, theme.json the default theme: nothing
//   files.rs              all of them as a constant of Rust, for the programs that serve the page
//   languages.rs          the files of web/lang as a constant of Rust, for the pages without JavaScript
//
// A page asks no other version for a file, so it works while two versions answer beside each other. The page has the sources
// of the client library in its script.

import { fileURLToPath } from "node:url";

import { MANGLED, buildUnitTests } from "../client/build.mjs";
import { buildScriptAndStyle, describeFiles, readIndex, readSentences, writeFiles } from "./assets.mjs";

// The page has the library in its own script, so it may also shorten options and states of the library, besides its own
// members. No server, other tab or later visit sees any of them.
const INTERNAL = `
  ageMs aheadAtEntry aheadCount behindCount changeAccount closesAtMs depart estimatedWaitSeconds hadPlace isAheadExpected
  isAsking isBack isDrawn isExpected isExtendRefused isInLine isLooping isMissedTurn isOn isOnline isUnknown
  isUnstored isVisible finishReason joinText keepAccount limitedBy needsInput nowMs opensAtMs otherAccount returnTo stateAtMs subscribe
  targetUrl undoText undoUntilMs updatedAtMs wasIn endsAtMs retryAfterMs whenClosed words writeAccountQuestion writeOtherAccount writeQuestion
`;
const MANGLED_HERE = new RegExp(`${MANGLED.source}|^(${INTERNAL.trim().split(/\s+/).join("|")})$`);
// HTML needs none of them.
const OPTIONAL_TAGS = /<\/(head|body|html|option)>/g;
const RIGHT_TO_LEFT = ["ar", "fa", "he", "ur"];

const folder = fileURLToPath(new URL(".", import.meta.url));

// The members of a language's file that this page does not show: who has read it, and the sentences that only the pages
// without JavaScript have.
const OF_OTHERS = `
  read_by_native_speaker startLead start position opens registeredLead fullLook closedLook busyLead over refreshes
  update again cookie-required foreign-origin scriptRequired seconds minutes hours days
`
  .trim()
  .split(/\s+/);

/** Reads the files of all languages: those of `en`, `ko` and so on by tag. */
export const readLanguages = () => readSentences(`${folder}../lang`);

/** Reads the sentences that the page shows, in all languages by tag. */
export async function readPageSentences() {
  const isShown = ([key]) => !OF_OTHERS.includes(key);
  const languages = Object.entries(await readLanguages());
  return Object.fromEntries(languages.map(([tag, file]) => [tag, Object.fromEntries(Object.entries(file).filter(isShown))]));
}

// The files of all languages as a constant of Rust: tag and text.
const describeLanguages = (tags) => `// The languages: tag and file. web/page/build.mjs makes this file.
&[
${tags.map((tag) => `    ("${tag}", include_str!("../../lang/${tag}.json")),`).join("\n")}
]
`;

/** Builds the page. Returns the texts of its files by their paths in dist/. */
export async function buildPage() {
  const sentencesByTag = await readPageSentences();
  const { script, style } = await buildScriptAndStyle({ folder, name: "page", mangleProps: MANGLED_HERE });
  const index = await readIndex(folder);
  const offer = (tag, isOwn) =>
    `<option value="${tag}" lang="${tag}" dir="auto"${isOwn ? " selected" : ""}>${sentencesByTag[tag].name}</option>`;
  const pages = Object.entries(sentencesByTag).map(([tag, { name, plain, ...sentences }]) => {
    const values = {
      tag,
      direction: RIGHT_TO_LEFT.includes(tag) ? "rtl" : "ltr",
      brand: sentences.brand,
      joining: sentences.joining,
      plain,
      languages: Object.keys(sentencesByTag).map((other) => offer(other, other === tag)).join(""),
      sentences: JSON.stringify(sentences).replaceAll("<", "\\u003c"),
      script,
      style,
    };
    return [`pages/${tag}.html`, index.replace(/\{(\w+)\}/g, (_, key) => values[key]).replace(OPTIONAL_TAGS, "")];
  });
  const files = { ...Object.fromEntries(pages), "theme.css": "", "theme.json": "{}" };
  return {
    ...files,
    "files.rs": describeFiles("waiting page", "web/page/build.mjs", Object.keys(files)),
    "languages.rs": describeLanguages(Object.keys(sentencesByTag)),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes("--tests")) {
    await buildUnitTests(folder);
  } else {
    await writeFiles(`${folder}dist`, await buildPage());
  }
}
