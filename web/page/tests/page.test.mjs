// The built page: it is that of the sources, small, and complete in every language.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { buildPage, readLanguages, readPageSentences } from "../build.mjs";
import { findCloseColours } from "../contrast.mjs";

const folder = new URL("../", import.meta.url);
const read = (path) => readFile(new URL(path, folder), "utf8");
const FIRST_LOAD_BYTES = 22 * 1_024;

test("the committed page is that of the sources", async () => {
  const files = await buildPage();
  for (const [path, text] of Object.entries(files)) {
    const committed = await read(`dist/${path}`).catch(() => undefined);
    assert.ok(text === committed, `dist/${path} is not built from the sources: run infra/client.sh build`);
  }
  const pages = (await readdir(new URL("dist/pages", folder))).map((name) => `pages/${name}`);
  assert.deepEqual(pages.filter((path) => !(path in files)), [], "files that no build makes");
});

test("the first load has at most 22 KB in any language", async () => {
  const files = Object.entries(await buildPage()).filter(([path]) => !path.endsWith(".rs"));
  // Nothing compresses what is so small: see MinimumCompressionSize in template.yaml.
  const size = ([, text]) => (text.length < 1_024 ? text.length : gzipSync(text, { level: 9 }).length);
  const isPage = ([path]) => path.endsWith(".html");
  const theme = files.filter((file) => !isPage(file)).reduce((sum, file) => sum + size(file), 0);
  const bytes = theme + Math.max(...files.filter(isPage).map(size));
  console.log(`first_load_bytes=${bytes}`);
  assert.ok(bytes <= FIRST_LOAD_BYTES, `${bytes} bytes`);
});

test("a page has its script, style and sentences in it, and asks for no other file but those of the theme", async () => {
  for (const [path, html] of Object.entries(await buildPage()).filter(([path]) => path.endsWith(".html"))) {
    const loaded = [...html.matchAll(/<[^>]*\b(?:src|href)="([^"]*)"/g)].map(([, address]) => address);
    assert.deepEqual(loaded, ["data:,", "theme.json", "theme.css"], path);
    // A script or sentence that ended its element early would show as text.
    assert.deepEqual([html.split("</script>").length, html.split("</style>").length], [3, 3], path);
    assert.doesNotMatch(html, /<!--|\{\w+\}<|undefined</, path);
    const [, sentences] = html.match(/data-part=sentences>(.*?)<\/script>/);
    const [, tag] = path.match(/pages\/(.*)\.html/);
    assert.equal(JSON.parse(sentences).waiting, (await readLanguages())[tag].waiting);
    assert.ok(html.startsWith(`<!doctype html><html lang="${tag}" dir="${tag === "ar" ? "rtl" : "ltr"}">`), path);
  }
});

test("the page loads from its own origin only", async () => {
  for (const [path, text] of Object.entries(await buildPage())) {
    const addresses = text.match(/https?:\/\/[^"' ]+/g) ?? [];
    assert.deepEqual(addresses.filter((address) => !address.startsWith("http://www.w3.org/")), [], path);
  }
});

const formsOf = (sentence) => (typeof sentence === "object" ? Object.values(sentence) : [sentence]);

test("every language has the sentences of English with the same values", async () => {
  const { en, ...others } = await readLanguages();
  const values = (sentence) => new Set(formsOf(sentence).flatMap((form) => form.match(/\{\w+\}/g) ?? []));
  for (const [language, { read_by_native_speaker: isRead, ...sentences }] of Object.entries(others)) {
    assert.equal(typeof isRead, "boolean", language);
    assert.deepEqual(["read_by_native_speaker", ...Object.keys(sentences)].sort(), Object.keys(en).sort(), language);
    for (const [key, sentence] of Object.entries(sentences)) {
      assert.deepEqual(values(sentence), values(en[key]), `${language} ${key}`);
      assert.ok(formsOf(sentence).every((form) => form.trim()), `${language} ${key}`);
    }
  }
});

test("no line of a French sentence begins with a mark that belongs to the word before", async () => {
  const { fr } = await readLanguages();
  const loose = Object.values(fr).flatMap(formsOf).filter((form) => / [?!:;»]|« /.test(form));
  assert.deepEqual(loose, []);
});

test("a sentence with forms has those of its language, no more and no less", async () => {
  for (const [language, sentences] of Object.entries(await readLanguages())) {
    const categories = new Intl.PluralRules(language).resolvedOptions().pluralCategories.sort();
    for (const [key, sentence] of Object.entries(sentences)) {
      if (typeof sentence === "object") assert.deepEqual(Object.keys(sentence).sort(), categories, `${language} ${key}`);
    }
  }
});

// The pages without JavaScript have rules of their own for these, which a test in Rust holds to the same cases.
test("plural categories and numbers of the cases are those of Intl", async () => {
  const { plurals, numbers } = JSON.parse(await read("tests/language_cases.json"));
  for (const language of Object.keys(await readLanguages())) {
    const locale = language === "ar" ? "ar-EG" : language;
    for (const [number, category] of Object.entries(plurals[language])) {
      assert.equal(new Intl.PluralRules(language).select(Number(number)), category, `${language} ${number}`);
      assert.equal(Number(number).toLocaleString(locale), numbers[language][number], `${language} ${number}`);
    }
  }
});

test("every sentence is used, and every used one exists", async () => {
  const { en: all } = await readLanguages();
  const { en } = await readPageSentences();
  const names = await readdir(new URL("src", folder));
  const sources = (await Promise.all(names.map((name) => read(`src/${name}`)))).join("\n");
  const html = await read("index.html");
  const marked = [...html.matchAll(/data-text="(\w+)"|\{(joining|plain)\}/g)].map(([, key, own]) => key ?? own);
  const direct = [...sources.matchAll(/words\.text\("([\w-]+)"/g)].map(([, key]) => key);
  const screens = [...(await read("src/screen_name.ts")).matchAll(/^  \| "(\w+)"/gm)].map(([, name]) => name);
  // A theme alone has an event, and a session that ends has the headline of one that goes on.
  const isOfOthers = (key) => key === "event" || key === "ending";
  assert.ok(screens.length > 20);
  assert.deepEqual([...marked, ...direct, ...screens].filter((key) => !(key in en) && !isOfOthers(key)), []);
  const isUsed = (key) => {
    const base = key.replace(/Day$/, "").replace(/Lead$/, "");
    // A problem's code is a key, and so are the reason of a queue's end and the name of a screen, with and without "Lead". "Day" is
    // for a time of another day.
    return key.includes("-") || ["sold_out", "cancelled"].includes(key) || key === "blocked" || marked.includes(key) || sources.includes(`"${key}"`) || sources.includes(`"${base}"`);
  };
  assert.deepEqual(Object.keys(en).filter((key) => key !== "name" && !isUsed(key)), []);
  // The others are those of the pages without JavaScript.
  const rustNames = (await readdir(new URL("../../shared/api/src/html", folder))).filter((name) => name.endsWith(".rs"));
  const rust = (await Promise.all(rustNames.map((name) => read(`../../shared/api/src/html/${name}`)))).join("\n");
  const isOfRust = (key) => key === "read_by_native_speaker" || rust.includes(`"${key}"`) || key === "foreign-origin";
  assert.deepEqual(Object.keys(all).filter((key) => !(key in en) && !isOfRust(key)), []);
});

test("the colours of the page and of the example theme can be told apart", async () => {
  assert.deepEqual(await findCloseColours(""), []);
  assert.deepEqual(await findCloseColours(await read("../../examples/theme/theme.css")), []);
});

test("a theme whose text is too pale is named", async () => {
  const found = await findCloseColours("/* pale */ :root { --soft: #b0a89c; } @media (prefers-color-scheme: dark) { :root { --soft: #aaa196; } }");
  assert.equal(found.length, 1);
  assert.match(found[0], /^light: soft on paper has a contrast of 2\.\d\d, and needs 4\.5$/);
});
