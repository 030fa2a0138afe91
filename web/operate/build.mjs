// Builds the operator's console into dist/, which is committed, or with --tests its unit tests into build/:
//
//   index.html    the console, for the path /operate/
//   assets/       its script, its style and one file of sentences for each language, with hashes in their names
//   files.rs      all of them as a constant of Rust, for the programs that serve the console

import { fileURLToPath } from "node:url";

import { buildUnitTests } from "../client/build.mjs";
import { buildPageFiles, readSentences, testLanguages, writeFiles } from "../page/assets.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));

/** Reads the sentences of all languages: those of `en` and `ko` by tag. */
export const readLanguages = () => readSentences(`${folder}lang`);

/** Builds the console. Returns the texts of its files by their paths in dist/. */
export const buildConsole = () =>
  buildPageFiles({ folder, name: "operate", base: "/operate", what: "operator's console" });

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes("--tests")) {
    await buildUnitTests(folder, [await testLanguages(folder)]);
  } else {
    await writeFiles(`${folder}dist`, await buildConsole());
  }
}
