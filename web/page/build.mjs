// Builds the waiting page into dist/, which is committed, or with --tests its unit tests into build/:
//
//   index.html            the page
//   assets/               its script, its style and one file of sentences for each language, with hashes in their names
//   theme.css, theme.json the default theme: nothing
//   files.rs              all of them as a constant of Rust, for the programs that serve the page
//
// The page has the sources of the client library in its script, so that a visitor loads one script.

import { createRequire } from "node:module";
import { readFile, readdir, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { MANGLED } from "../client/build.mjs";
import { STYLE_TARGETS, describeFiles, hashedName, languageFiles, languagesPlugin, readSentences, writeFiles } from "./assets.mjs";

// The page has the library in its own script, so it may also shorten options and states of the library, besides its own
// members. No server, other tab or later visit sees any of them.
const INTERNAL = `
  aheadCount behindCount hadPlace isAsking isBack isDrawn isExtendRefused isInLine isLooping isMissedTurn joinText
  needsInput returnTo stateAtMs subscribe tellClosed undoText undoUntilMs whenClosed
`;
const MANGLED_HERE = new RegExp(`${MANGLED.source}|^(${INTERNAL.trim().split(/\s+/).join("|")})$`);

const folder = fileURLToPath(new URL(".", import.meta.url));
// The tools are those of the client library.
const { build, transform } = createRequire(new URL("../client/package.json", import.meta.url))("esbuild");

const read = (path) => readFile(folder + path, "utf8");

/** Reads the sentences of all languages: those of `en`, `ko` and so on by tag. */
export const readLanguages = () => readSentences(`${folder}lang`);

const buildLanguages = async () => languageFiles(await readLanguages());

async function buildScript(languages) {
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: ["src/page.ts"],
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    charset: "utf8",
    mangleProps: MANGLED_HERE,
    plugins: [languagesPlugin(languages)],
    write: false,
  });
  return outputFiles[0].text;
}

/** Builds the page. Returns the texts of its files by their paths in dist/. */
export async function buildPage() {
  const languages = await buildLanguages();
  const script = await buildScript(languages);
  const { code: style } = await transform(await read("page.css"), { loader: "css", minify: true, target: STYLE_TARGETS });
  const scriptPath = `assets/${hashedName("page.js", script)}`;
  const stylePath = `assets/${hashedName("page.css", style)}`;
  const html = (await read("index.html"))
    .replace('"page.js"', `"/${scriptPath}"`)
    .replace('"page.css"', `"/${stylePath}"`)
    .replace(/\n\s*/g, "");
  const files = {
    "index.html": html,
    [stylePath]: style,
    [scriptPath]: script,
    ...Object.fromEntries(languages.map(({ path, text }) => [`assets/${path}`, text])),
    "theme.css": "",
    "theme.json": "{}",
  };
  return { ...files, "files.rs": describeFiles("waiting page", "web/page/build.mjs", Object.keys(files)) };
}

async function buildTests() {
  await rm(`${folder}build`, { recursive: true, force: true });
  const names = (await readdir(`${folder}tests`)).filter((name) => name.endsWith(".test.ts"));
  await build({
    absWorkingDir: folder,
    entryPoints: names.map((name) => `tests/${name}`),
    outdir: "build",
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    sourcemap: "inline",
    plugins: [languagesPlugin(await buildLanguages())],
  });
}

const writePage = async () => writeFiles(`${folder}dist`, await buildPage());

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await (process.argv.includes("--tests") ? buildTests() : writePage());
}
