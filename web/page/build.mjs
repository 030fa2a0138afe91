// Builds the waiting page into dist/, which is committed, or with --tests its unit tests into build/:
//
//   index.html            the page
//   assets/               its script, its style and one file of sentences for each language, with hashes in their names
//   theme.css, theme.json the default theme: nothing
//   files.rs              all of them as a constant of Rust, for the programs that serve the page
//
// The page has the sources of the client library in its script, so that a visitor loads one script.

import { fileURLToPath } from "node:url";

import { MANGLED, buildUnitTests } from "../client/build.mjs";
import { buildPageFiles, readSentences, testLanguages, writeFiles } from "./assets.mjs";

// The page has the library in its own script, so it may also shorten options and states of the library, besides its own
// members. No server, other tab or later visit sees any of them.
const INTERNAL = `
  aheadCount behindCount changeAccount hadPlace isAsking isBack isDrawn isExtendRefused isInLine isLooping isMissedTurn joinText
  keepAccount needsInput otherAccount returnTo stateAtMs subscribe tellClosed undoText undoUntilMs whenClosed
  writeAccountQuestion writeOtherAccount writeQuestion
`;
const MANGLED_HERE = new RegExp(`${MANGLED.source}|^(${INTERNAL.trim().split(/\s+/).join("|")})$`);

const folder = fileURLToPath(new URL(".", import.meta.url));

/** Reads the sentences of all languages: those of `en`, `ko` and so on by tag. */
export const readLanguages = () => readSentences(`${folder}lang`);

/** Builds the page. Returns the texts of its files by their paths in dist/. */
export const buildPage = () =>
  buildPageFiles({
    folder,
    name: "page",
    base: "",
    what: "waiting page",
    mangleProps: MANGLED_HERE,
    further: { "theme.css": "", "theme.json": "{}" },
  });

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes("--tests")) {
    await buildUnitTests(folder, [await testLanguages(folder)]);
  } else {
    await writeFiles(`${folder}dist`, await buildPage());
  }
}
