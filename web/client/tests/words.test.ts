// The sentences of a language, and which language covers a tag.

import assert from "node:assert/strict";
import { test } from "node:test";

import cases from "../../page/tests/language_cases.json";
import { PluralWords, Words, localeOf, matchLanguage } from "../src/words.js";

test("a language covers the tags that the pages without JavaScript say", () => {
  const languages = ["ar", "de", "en", "es", "fr", "ja", "ko", "zh-Hans", "zh-Hant"];
  for (const [tag, language] of Object.entries(cases.languages)) assert.equal(matchLanguage([tag], languages) ?? null, language, tag);
});

test("numbers are those of the browser's region of the language", () => {
  const browseIn = (...languages: string[]) => Object.defineProperty(globalThis, "navigator", { value: { languages }, configurable: true });
  browseIn("de", "en-GB", "en-US", "zh-TW");
  assert.deepEqual(["en", "ar", "zh-Hant", "zh-Hans"].map(localeOf), ["en-GB", "ar-EG", "zh-TW", "zh-Hans"]);
  browseIn("en-US@posix");
  assert.equal(localeOf("en"), "en");
});

test("a sentence takes the plural form of its number", () => {
  const words = new PluralWords("ar", { here: { one: "واحد", two: "اثنان", other: "{n}" }, name: "{n}" });
  const here = (number: number) => words.text("here", { n: String(number) }, number);
  assert.deepEqual([1, 2, 5].map(here), ["واحد", "اثنان", "5"]);
  assert.equal(words.text("name"), "");
});

test("a key that is a member of every object has no sentence", () => {
  for (const words of [new Words({}), new PluralWords("en", {})]) {
    assert.deepEqual([words.text("constructor"), words.text("toString")], ["", ""]);
  }
});
