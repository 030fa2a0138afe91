// What a theme puts over the sentences of the page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { withTheme } from "../src/words.js";

test("a theme's text counts more than the page's, and English is the last one", () => {
  const sentences = { brand: "대기실", turn: "차례" };
  const theme = { texts: { en: { event: "Sale", brand: "Shop" }, default: { turn: "!" }, ko: { brand: "상점" } } };
  const words = withTheme("ko", sentences, theme);
  assert.deepEqual(["event", "brand", "turn"].map((key) => words.text(key)), ["Sale", "상점", "!"]);
  const chinese = withTheme("zh-Hant", sentences, { texts: { zh: { brand: "店" } } });
  assert.equal(chinese.text("brand"), "店");
});
