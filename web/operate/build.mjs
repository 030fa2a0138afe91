// Builds the operator's console into dist/, which is committed, or with --tests its unit tests into build/:
//
//   index.html    the console, for the path /operate/
//   assets/       its script, its style and one file of sentences for each language, with hashes in their names
//   files.rs      all of them as a constant of Rust, for the programs that serve the console

import { createRequire } from "node:module";
import { readFile, readdir, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import {
  STYLE_TARGETS,
  describeFiles,
  hashedName,
  languageFiles,
  languagesPlugin,
  readSentences,
  writeFiles,
} from "../page/assets.mjs";

/** The path at which the console is served. */
const BASE = "/operate";

const folder = fileURLToPath(new URL(".", import.meta.url));
// The tools are those of the client library.
const { build, transform } = createRequire(new URL("../client/package.json", import.meta.url))("esbuild");

const read = (path) => readFile(folder + path, "utf8");

/** Reads the sentences of all languages: those of `en` and `ko` by tag. */
export const readLanguages = () => readSentences(`${folder}lang`);

const buildLanguages = async () => languageFiles(await readLanguages());

async function buildScript(languages) {
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: ["src/operate.ts"],
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    charset: "utf8",
    plugins: [languagesPlugin(languages)],
    write: false,
  });
  return outputFiles[0].text;
}

/** Builds the console. Returns the texts of its files by their paths in dist/. */
export async function buildConsole() {
  const languages = await buildLanguages();
  const script = await buildScript(languages);
  const { code: style } = await transform(await read("operate.css"), { loader: "css", minify: true, target: STYLE_TARGETS });
  const scriptPath = `assets/${hashedName("operate.js", script)}`;
  const stylePath = `assets/${hashedName("operate.css", style)}`;
  const html = (await read("index.html"))
    .replace('"operate.js"', `"${BASE}/${scriptPath}"`)
    .replace('"operate.css"', `"${BASE}/${stylePath}"`)
    .replace(/\n\s*/g, "");
  const files = {
    "index.html": html,
    [stylePath]: style,
    [scriptPath]: script,
    ...Object.fromEntries(languages.map(({ path, text }) => [`assets/${path}`, text])),
  };
  return { ...files, "files.rs": describeFiles("operator's console", "web/operate/build.mjs", Object.keys(files)) };
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

const writeConsole = async () => writeFiles(`${folder}dist`, await buildConsole());

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await (process.argv.includes("--tests") ? buildTests() : writeConsole());
}
