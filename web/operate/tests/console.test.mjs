// The built console: it is that of the sources, loads from its own origin only, and is complete in every language.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { test } from "node:test";

import { buildConsole, readLanguages } from "../build.mjs";

const folder = new URL("../", import.meta.url);
const read = (path) => readFile(new URL(path, folder), "utf8");

test("the committed console is that of the sources", async () => {
  const files = await buildConsole();
  for (const [path, text] of Object.entries(files)) {
    const committed = await read(`dist/${path}`).catch(() => undefined);
    assert.ok(text === committed, `dist/${path} is not built from the sources: run infra/client.sh build`);
  }
  const assets = (await readdir(new URL("dist/assets", folder))).map((name) => `assets/${name}`);
  assert.deepEqual(assets.filter((path) => !(path in files)), [], "files that no build makes");
});

test("the console loads from its own origin only", async () => {
  for (const [path, text] of Object.entries(await buildConsole())) {
    const addresses = text.match(/https?:\/\/[^"' ]+/g) ?? [];
    assert.deepEqual(addresses.filter((address) => !address.startsWith("http://www.w3.org/")), [], path);
  }
});

test("both languages have the same sentences with the same values", async () => {
  const { en, ...others } = await readLanguages();
  assert.deepEqual(Object.keys(others), ["ko"]);
  const forms = (sentence) => (typeof sentence === "string" ? [sentence] : Object.values(sentence));
  const values = (sentence) => [...new Set(forms(sentence).flatMap((form) => form.match(/\{\w+\}/g) ?? []))].sort();
  assert.deepEqual(Object.keys(others.ko), Object.keys(en));
  for (const [key, sentence] of Object.entries(others.ko)) {
    assert.deepEqual(values(sentence), values(en[key]), key);
    assert.ok(forms(sentence).every((form) => form.trim()), key);
  }
});

test("every sentence that the sources name exists", async () => {
  const { en } = await readLanguages();
  const sources = (await readdir(new URL("src", folder))).filter((name) => name.endsWith(".ts"));
  const texts = await Promise.all([...sources.map((name) => read(`src/${name}`)), read("index.html")]);
  const named = texts.flatMap((text) => [...text.matchAll(/(?:say\(|data-text=|data-label=)"(\w+)"/g)].map(([, key]) => key));
  assert.ok(named.length > 100, `${named.length}`);
  assert.deepEqual(named.filter((key) => !(key in en)), []);
});
