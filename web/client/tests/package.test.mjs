// The package: its bundles are those of the sources, small, and what package.json says.

import assert from "node:assert/strict";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { buildBundles, buildDeclarations, readElementSentences } from "../build.mjs";

const folder = new URL("..", import.meta.url);
const read = (path) => readFile(new URL(path, folder), "utf8");
const gzippedBytes = async (path) => gzipSync(await read(path), { level: 9 }).length;

test("the committed bundles are those of the sources", async () => {
  const { outputFiles } = await buildBundles({ write: false });
  for (const { path, text } of outputFiles) {
    const isSame = text === (await readFile(path, "utf8"));
    assert.ok(isSame, `${path} is not the bundle of the sources: run infra/client.sh build`);
  }
});

test("the committed declarations are those of the sources, so a folder that is installed has its types", async () => {
  const built = await mkdtemp(`${tmpdir()}/vestibule-types-`);
  await buildDeclarations(built);
  const names = (await readdir(built)).sort();
  assert.deepEqual((await readdir(new URL("dist/types", folder))).sort(), names);
  for (const name of names) assert.equal(await read(`dist/types/${name}`), await readFile(`${built}/${name}`, "utf8"), name);
  await rm(built, { recursive: true });
});

test("the core has at most 8 KB", async () => {
  const bytes = await gzippedBytes("dist/vestibule.js");
  assert.ok(bytes <= 8_192, `${bytes} bytes`);
});

test("the element has at most 4 KB", async () => {
  const bytes = await gzippedBytes("dist/element.js");
  console.log(`element_bytes=${bytes}`);
  assert.ok(bytes <= 4_096, `${bytes} bytes`);
  assert.match(await read("dist/element.js"), /from ?"\.\/vestibule\.js"/, "the library is not in it a second time");
});

test("the element has all sentences that it says, and no other", async () => {
  const { en, ko } = await readElementSentences();
  const { session, ...line } = en;
  const texts = [en, ko].flatMap((sentences) => Object.values({ ...sentences, ...sentences.session, session: "" }));
  assert.deepEqual(texts.filter((sentence) => typeof sentence !== "string"), []);
  assert.deepEqual(Object.keys(session).filter((key) => !(key in line)), []);
  const element = await read("src/element.ts");
  const sources = (await read("src/texts.ts")) + element;
  const named = [...sources.matchAll(/words\.text\(([^;]*)\)/g)].flatMap(([, expression]) => expression.match(/(?<=")[\w-]+(?=")/g) ?? []);
  assert.ok(named.length > 10, `${named}`);
  assert.deepEqual(named.filter((key) => key !== "new" && !(key in line)), []);
  // A part with a sentence of its name always says it: no part that holds others, or changes, has one.
  const parts = [...element.matchAll(/addPart\(.*?"(\w+)"\)/g)].map(([, name]) => name);
  const fixed = ["account", "claim", "confirm", "cost", "join", "keep", "leave", "question", "stay", "target", "undo"];
  assert.deepEqual(parts.filter((name) => name in line).sort(), fixed);
  // A problem's code is a key, and so are the name of a status, of a connection and of the reason of a queue's end.
  const names = ["active", "blocked", "cancelled", "closed", "completed", "evicted", "failed", "finished", "joining", "left"];
  const isUsed = (key) => sources.includes(`"${key}"`) || key.includes("-") || [...names, "offline", "ready", "sold_out", "waiting"].includes(key);
  assert.deepEqual(Object.keys(line).filter((key) => !isUsed(key)), []);
});

test("the package has no runtime dependency, and exports what exists", async () => {
  const manifest = JSON.parse(await read("package.json"));
  assert.equal(manifest.dependencies, undefined);
  assert.match(manifest.version, /^\d+\.\d+\.\d+$/);
  for (const { default: path, types } of Object.values(manifest.exports).filter((target) => target.default)) {
    for (const file of [path, types]) assert.ok((await read(file)).length > 0, file);
  }
});

test("the lock file names no registry", async () => {
  const lock = JSON.parse(await read("package-lock.json"));
  for (const [name, { resolved }] of Object.entries(lock.packages)) {
    assert.ok(resolved === undefined || resolved.startsWith("https://registry.npmjs.org/"), name);
  }
});
