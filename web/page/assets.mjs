// What the builds of web/page and web/operate share: files with hashes in their names, the sentences of the languages, and
// the list of files that Rust includes.

import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";

const KINDS = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
};

/** The oldest browsers for which a style is written. */
export const STYLE_TARGETS = ["chrome111", "safari16.4", "firefox121"];

/** The name of a file with a hash of its text in it. */
export const hashedName = (name, text) => {
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
export function languageFiles(sentencesByTag) {
  return Object.entries(sentencesByTag).map(([tag, sentences]) => {
    const { name, ...rest } = sentences;
    const text = JSON.stringify(rest);
    return { tag, name, path: hashedName(`lang-${tag}.json`, text), text };
  });
}

/** Resolves "virtual:languages": the names and files of the languages by tag. */
export function languagesPlugin(languages) {
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
