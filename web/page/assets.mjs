// The build of a page that a program of Rust serves, for web/page and web/operate: files with hashes in their names, the
// sentences of the languages, and the list of files that Rust includes.

import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";

// The tools are those of the client library.
const { build, transform } = createRequire(new URL("../client/package.json", import.meta.url))("esbuild");

const KINDS = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
};

/** The oldest browsers for which a style is written. */
const STYLE_TARGETS = ["chrome111", "safari16.4", "firefox121"];

/** The name of a file with a hash of its text in it. */
const hashedName = (name, text) => {
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 10);
  return name.replace(/\.(\w+)$/, `-${hash}.$1`);
};

/** Reads the sentences of all languages in a folder: those of `en`, `ko` and so on by tag. */
export async function readSentences(folder) {
  const names = (await readdir(folder)).sort();
  const texts = await Promise.all(
    names.map(async (name) => [basename(name, ".json"), JSON.parse(await readFile(`${folder}/${name}`, "utf8"))]),
  );
  return Object.fromEntries(texts);
}

/** The file of each language. */
function languageFiles(sentencesByTag) {
  return Object.entries(sentencesByTag).map(([tag, sentences]) => {
    const { name, ...rest } = sentences;
    const text = JSON.stringify(rest);
    return { tag, name, path: hashedName(`lang-${tag}.json`, text), text };
  });
}

/** Resolves "virtual:languages": the names and files of the languages by tag. */
function languagesPlugin(languages) {
  const map = Object.fromEntries(languages.map(({ tag, name, path }) => [tag, { name, path }]));
  return {
    name: "languages",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^virtual:languages$/ }, () => ({ path: "languages", namespace: "virtual" }));
      onLoad({ filter: /.*/, namespace: "virtual" }, () => ({ contents: JSON.stringify(map), loader: "json" }));
    },
  };
}

/** The files as a constant of Rust: path, media type and text. `what` and `maker` are for its comment. */
function describeFiles(what, maker, paths) {
  const kind = (path) => KINDS[path.split(".").at(-1)];
  const entries = paths.map((path) => `    ("${path}", "${kind(path)}", include_str!("${path}")),`);
  return `// The files of the ${what}: path, media type and text. ${maker} makes this file.
&[
${entries.join("\n")}
]
`;
}

/**
 * Builds the page NAME of a folder: its script src/NAME.ts, its style NAME.css, its index.html and its languages. Returns the
 * texts of its files by their paths in dist/. The page is served below `base`. `further` are files that it has besides, `what`
 * names it in files.rs, and `mangleProps` are the members whose names may become shorter.
 */
export async function buildPageFiles({ folder, name, base, what, mangleProps, further = {} }) {
  const languages = languageFiles(await readSentences(`${folder}lang`));
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: [`src/${name}.ts`],
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    charset: "utf8",
    mangleProps,
    plugins: [languagesPlugin(languages)],
    write: false,
  });
  const script = outputFiles[0].text;
  const source = await readFile(`${folder}${name}.css`, "utf8");
  const { code: style } = await transform(source, { loader: "css", minify: true, target: STYLE_TARGETS });
  const scriptPath = `assets/${hashedName(`${name}.js`, script)}`;
  const stylePath = `assets/${hashedName(`${name}.css`, style)}`;
  const html = (await readFile(`${folder}index.html`, "utf8"))
    .replace(`"${name}.js"`, `"${base}/${scriptPath}"`)
    .replace(`"${name}.css"`, `"${base}/${stylePath}"`)
    .replace(/\n\s*/g, "");
  const files = {
    "index.html": html,
    [stylePath]: style,
    [scriptPath]: script,
    ...Object.fromEntries(languages.map(({ path, text }) => [`assets/${path}`, text])),
    ...further,
  };
  return { ...files, "files.rs": describeFiles(what, `web/${basename(folder)}/build.mjs`, Object.keys(files)) };
}

/** The plugin by which the unit tests of a folder read its languages. */
export const testLanguages = async (folder) => languagesPlugin(languageFiles(await readSentences(`${folder}lang`)));

/** Replaces a folder by these texts by their paths. */
export async function writeFiles(folder, files) {
  await rm(folder, { recursive: true, force: true });
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(`${folder}/${path}`), { recursive: true });
    await writeFile(`${folder}/${path}`, text);
  }
}
