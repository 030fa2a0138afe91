// Imports run one way, in client, page and operate: no file imports another that leads back to it, and of the three only the
// client is imported by the others. Imports of types count, because a reader follows them, too.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { posix } from "node:path";
import { test } from "node:test";

import ts from "typescript";

const web = new URL("../../", import.meta.url);

// The folders whose sources those of a folder may import.
const WALLS = { client: ["client"], page: ["page", "client"], operate: ["operate", "client"] };

/** Reads the sources of the three folders by path. */
async function readSources() {
  const read = async (folder) => {
    const names = (await readdir(new URL(`${folder}/src`, web), { recursive: true })).filter((name) => name.endsWith(".ts"));
    return Promise.all(names.map(async (name) => [`${folder}/src/${name}`, await readFile(new URL(`${folder}/src/${name}`, web), "utf8")]));
  };
  return Object.fromEntries((await Promise.all(Object.keys(WALLS).map(read))).flat());
}

/** The files that each of the sources imports, by path. */
function readImports(sources) {
  const resolve = (path, name) => posix.join(posix.dirname(path), name).replace(/\.js$/, ".ts");
  const importsOf = (path, text) =>
    ts.preProcessFile(text).importedFiles.filter(({ fileName }) => fileName.startsWith(".")).map(({ fileName }) => resolve(path, fileName));
  return Object.fromEntries(Object.entries(sources).map(([path, text]) => [path, importsOf(path, text)]));
}

/** The shortest way from a file over its imports back to it, or `undefined`. */
function findCircle(imports, start) {
  const ways = [[start]];
  const reached = new Set();
  // The list goes on with what is added meanwhile.
  for (const way of ways) {
    for (const next of imports[way.at(-1)] ?? []) {
      if (next === start) return [...way, next];
      if (!reached.has(next)) ways.push([...way, next]);
      reached.add(next);
    }
  }
  return undefined;
}

/** The circles of the sources, each as `a -> b -> a`. A file of a circle that was found begins no other. */
function findCircles(sources) {
  const imports = readImports(sources);
  const circles = [];
  for (const path of Object.keys(imports).sort()) {
    const circle = circles.flat().includes(path) ? undefined : findCircle(imports, path);
    if (circle) circles.push(circle);
  }
  return circles.map((circle) => circle.join(" -> "));
}

/** The imports of files where their folder may import none, each as `a -> b`. */
function findBreaches(sources) {
  const isAllowed = (path, target) => WALLS[path.split("/")[0]].some((folder) => target.startsWith(`${folder}/src/`));
  return Object.entries(readImports(sources)).flatMap(([path, targets]) =>
    targets.filter((target) => !isAllowed(path, target)).map((target) => `${path} -> ${target}`),
  );
}

test("no source of the web has an import circle", async () => {
  const circles = findCircles(await readSources());
  const message = `these files import each other; move what they share to the file where it belongs:\n${circles.join("\n")}`;
  assert.equal(circles.length, 0, message);
});

test("the client imports no other folder, page and operate only it", async () => {
  const breaches = findBreaches(await readSources());
  const message = `these imports lead out of the folder; move what both need to the client:\n${breaches.join("\n")}`;
  assert.equal(breaches.length, 0, message);
});

test("every import of a source is of a file that was read", async () => {
  // An import that is resolved wrongly would hide a circle.
  const sources = await readSources();
  const imported = Object.values(readImports(sources)).flat().filter((path) => !path.endsWith(".css"));
  assert.ok(imported.length > 100, `${imported.length}`);
  assert.deepEqual(imported.filter((path) => !(path in sources)), []);
});

test("every kind of import counts for a circle", () => {
  const imports = [
    'import { b } from "./b.js";',
    'import type { B } from "./b.js";',
    'import {\n  type B,\n} from "./b.js";',
    'import "./b.js";',
    'export * from "./b.js";',
    'export type { B } from "./b.js";',
    'const load = () => import("./b.js");',
    'let b: import("./b.js").B;',
  ];
  for (const text of imports) {
    const circles = findCircles({ "page/src/a.ts": text, "page/src/b.ts": 'import "./a.js";' });
    assert.deepEqual(circles, ["page/src/a.ts -> page/src/b.ts -> page/src/a.ts"], text);
  }
  const comment = '// import { b } from "./b.js";';
  assert.deepEqual(findCircles({ "page/src/a.ts": comment, "page/src/b.ts": 'import "./a.js";' }), []);
});

test("a circle of several files is found, also across folders", () => {
  const circles = findCircles({
    "client/src/a.ts": 'import "../../page/src/b.js";',
    "page/src/b.ts": 'import "./c.js";',
    "page/src/c.ts": 'import "../../client/src/a.js";',
    // It leads to a circle, and is in none.
    "operate/src/d.ts": 'import "../../page/src/b.js";',
  });
  assert.deepEqual(circles, ["client/src/a.ts -> page/src/b.ts -> page/src/c.ts -> client/src/a.ts"]);
});

test("an import of another folder is a breach unless the client's", () => {
  const breaches = findBreaches({
    "client/src/a.ts": 'import "../../page/src/b.js";',
    "page/src/b.ts": 'import "../../client/src/a.js"; import "../../operate/src/c.js";',
    "operate/src/c.ts": 'import "../../client/src/a.js"; import "../../page/src/b.js"; import "../../page/page.css";',
  });
  assert.deepEqual(breaches, [
    "client/src/a.ts -> page/src/b.ts",
    "page/src/b.ts -> operate/src/c.ts",
    "operate/src/c.ts -> page/src/b.ts",
    "operate/src/c.ts -> page/page.css",
  ]);
});
