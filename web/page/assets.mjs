// What the builds of web/page and web/operate share: pages that a program of Rust serves.

import { createRequire } from "node:module";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";

// The tools are those of the client library.
const requireTool = createRequire(new URL("../client/package.json", import.meta.url));
const { build, transform } = requireTool("esbuild");
const { minify } = requireTool("terser");

const KINDS = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
};

/** The oldest browsers for which a style is written. */
const STYLE_TARGETS = ["chrome111", "safari16.4", "firefox121"];

/** Reads the sentences of all languages in a folder: those of `en`, `ko` and so on by tag. */
export async function readSentences(folder) {
  const names = (await readdir(folder)).sort();
  const texts = await Promise.all(
    names.map(async (name) => [basename(name, ".json"), JSON.parse(await readFile(`${folder}/${name}`, "utf8"))]),
  );
  return Object.fromEntries(texts);
}

/** Makes a bundle smaller. The bundler alone leaves some three in a hundred bytes more. No getter of ours changes anything. */
export async function shorten(script) {
  return (await minify(script, { module: true, ecma: 2020, compress: { passes: 3, inline: 1, pure_getters: true, unsafe_arrows: true } })).code;
}

/**
 * Builds the script src/NAME.ts and the style NAME.css of a folder. `mangleProps` are the members whose names may become
 * shorter.
 */
export async function buildScriptAndStyle({ folder, name, mangleProps, plugins = [] }) {
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: [`src/${name}.ts`],
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    charset: "utf8",
    mangleProps,
    plugins,
    write: false,
  });
  const source = await readFile(`${folder}${name}.css`, "utf8");
  const { code: style } = await transform(source, { loader: "css", minify: true, target: STYLE_TARGETS });
  return { script: await shorten(outputFiles[0].text), style };
}

/**
 * Reads index.html of a folder, without white space between its lines, and without quotes and slashes that HTML does not need.
 * In a drawing, the slash ends an element.
 */
export async function readIndex(folder) {
  const html = await readFile(`${folder}index.html`, "utf8");
  return html.replace(/\n\s*/g, "").replace(/<(img|input|link|meta)([^>]*) \/>/g, "<$1$2>").replace(/ ([\w-]+)="([\w-]+)"/g, " $1=$2");
}

/** The files of a page as a constant of Rust: path, media type and text. `what` and `maker` are for its comment. */
export function describeFiles(what, maker, paths) {
  const kind = (path) => KINDS[path.split(".").at(-1)];
  const entries = paths.map((path) => `    ("${path}", "${kind(path)}", include_str!("${path}")),`);
  return `// The files of the ${what}: path, media type and text. ${maker} makes this file.
&[
${entries.join("\n")}
]
`;
}

/** Replaces a folder by these texts by their paths. */
export async function writeFiles(folder, files) {
  await rm(folder, { recursive: true, force: true });
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(`${folder}/${path}`), { recursive: true });
    await writeFile(`${folder}/${path}`, text);
  }
}
