// Builds the operator's console into dist/, which is committed, or with --tests its unit tests into build/:
//
//   index.html    the console, for the path /operate/
//   assets/       its script, its style and one file of sentences for each language, with hashes in their names
//   files.rs      all of them as a constant of Rust, for the programs that serve the console

import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";

import { buildUnitTests } from "../client/build.mjs";
import { buildScriptAndStyle, describeFiles, readIndex, readSentences, writeFiles } from "../page/assets.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));

/** Reads the sentences of all languages: those of `en` and `ko` by tag. */
export const readLanguages = () => readSentences(`${folder}lang`);

/** The name of a file with a hash of its text in it. */
const hashedName = (name, text) => {
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 10);
  return name.replace(/\.(\w+)$/, `-${hash}.$1`);
};

/** The file of each language. */
const languageFiles = async () =>
  Object.entries(await readLanguages()).map(([tag, { name, ...rest }]) => {
    const text = JSON.stringify(rest);
    return { tag, name, path: hashedName(`lang-${tag}.json`, text), text };
  });

/**
 * Resolves "virtual:languages", the names and files of the console's languages by tag, and "virtual:page-languages", the tags of
 * those of the waiting page.
 */
async function languagesPlugin(languages) {
  const contents = {
    languages: Object.fromEntries(languages.map(({ tag, name, path }) => [tag, { name, path }])),
    "page-languages": Object.keys(await readSentences(`${folder}../lang`)),
  };
  return {
    name: "languages",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^virtual:/ }, ({ path }) => ({ path: path.slice("virtual:".length), namespace: "virtual" }));
      onLoad({ filter: /.*/, namespace: "virtual" }, ({ path }) => ({ contents: JSON.stringify(contents[path]), loader: "json" }));
    },
  };
}

/** Builds the console. Returns the texts of its files by their paths in dist/. */
export async function buildConsole() {
  const languages = await languageFiles();
  const plugins = [await languagesPlugin(languages)];
  const { script, style } = await buildScriptAndStyle({ folder, name: "operate", plugins });
  const scriptPath = `assets/${hashedName("operate.js", script)}`;
  const stylePath = `assets/${hashedName("operate.css", style)}`;
  const index = await readIndex(folder);
  const files = {
    "index.html": index
      .replace('"operate.js"', `"/operate/${scriptPath}"`)
      .replace('"operate.css"', `"/operate/${stylePath}"`),
    [stylePath]: style,
    [scriptPath]: script,
    ...Object.fromEntries(languages.map(({ path, text }) => [`assets/${path}`, text])),
  };
  return { ...files, "files.rs": describeFiles("operator's console", "web/operate/build.mjs", Object.keys(files)) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes("--tests")) {
    await buildUnitTests(folder, [await languagesPlugin(await languageFiles())]);
  } else {
    await writeFiles(`${folder}dist`, await buildConsole());
  }
}
