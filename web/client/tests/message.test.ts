// Which text of the operator's message a visitor reads.

import assert from "node:assert/strict";
import { test } from "node:test";

import { chooseMessage, languageOfText } from "../src/message.js";
import { joinedFollower, nearEntry, publicDocument, receiveDocument, receiveEntry } from "./samples.js";

const texts = { message: "Sold out", messages: { en: "Sold out", ko: "매진", "zh-hant": "售罄", zh: "售完" } };

test("a visitor reads the first language that the message has", () => {
  const read = (...languages: string[]) => chooseMessage(texts, languages);
  assert.equal(read("fr-FR", "ko-KR", "en"), "매진");
  assert.equal(read("en-GB", "ko"), "Sold out");
  assert.deepEqual([read("zh-Hant-TW"), read("zh-TW"), read("zh-CN")], ["售罄", "售罄", "售完"]);
  assert.deepEqual([read("fr"), read()], ["Sold out", "Sold out"]);
});

test("a message in one text is read in every language", () => {
  assert.equal(chooseMessage({ message: "Soon" }, ["ko"]), "Soon");
  assert.equal(chooseMessage({}, ["ko"]), "");
});

test("a text carries its language, unless the message does not say it", () => {
  assert.deepEqual([languageOfText(texts, "售罄"), languageOfText(texts, "Sold out")], ["zh-hant", "en"]);
  assert.equal(languageOfText({ message: "Soon" }, "Soon"), "");
});

test("no language is a member of every object", () => {
  assert.equal(chooseMessage(texts, ["constructor"]), "Sold out");
});

test("entries and the document carry every language", () => {
  const follower = joinedFollower();
  receiveDocument(follower, publicDocument({ ...texts, now_ms: 2_000 }), 5_000);
  const { queue } = follower.stateAt(5_000);
  assert.equal(chooseMessage(queue, ["ko"]), "매진");
  receiveEntry(follower, nearEntry({ message: "Soon", messages: { ja: "もうすぐ", en: "Soon" } }), 6_000);
  assert.equal(chooseMessage(follower.stateAt(6_000).queue, ["ja"]), "もうすぐ");
});
