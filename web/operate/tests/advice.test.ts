// What the console advises: the first order of each state, and sentences that say what to do.

import assert from "node:assert/strict";
import { test } from "node:test";

import EN from "../lang/en.json";
import KO from "../lang/ko.json";
import { firstOrder, queueAdvice, waitsWords } from "../src/advice.js";
import { ConsoleFormat } from "../src/format.js";
import type { Speech } from "../src/sentences.js";
import type { Detail } from "../src/types.js";

const speechOf = (sentences: Record<string, unknown>, locale: string): Speech => ({
  format: new ConsoleFormat(locale),
  say: (key, values = {}) => String(sentences[key] ?? "").replace(/\{(\w+)\}/g, (_: string, name: string) => values[name] ?? ""),
});
const english = speechOf(EN, "en-US");
const detailOf = (stats: object, isPaused = false) => ({ stats: { state: "open", limited_by: null, capacity: 500, ...stats }, settings: { paused: isPaused } }) as Detail;

test("the first order is the one that the state suggests", () => {
  const first = (state: string, isPaused = false) => firstOrder(detailOf({ state }, isPaused));
  assert.deepEqual(["open", "scheduled", "draining", "closed", "finished"].map((state) => first(state)), ["pause", "pause", "pause", "open", "report"]);
  assert.equal(first("paused", true), "resume");
  // A pause outlasts the end of a queue, and to resume it lets no visitor in.
  assert.deepEqual([first("closed", true), first("finished", true)], ["open", "report"]);
});

test("a limit says what to do about it, in both languages", () => {
  const advise = (stats: object) => queueAdvice(detailOf(stats), english);
  assert.equal(advise({ limited_by: "capacity" }), "All 500 places are taken: visitors come in as others leave. Raise the capacity if the shop has room.");
  assert.equal(advise({ state: "paused", limited_by: "switch" }), "No visitor comes in until you resume. Places are kept.");
  assert.match(advise({ state: "paused", limited_by: "clock" }), /clocks .* Correct the wrong clock/);
  // A line that is empty, or a queue that moves, needs nothing.
  assert.deepEqual([advise({}), advise({ limited_by: "line" }), advise({ state: "finished", limited_by: "switch" })], ["", "", ""]);
  for (const speech of [english, speechOf(KO, "ko-KR")]) {
    const advices = ["capacity", "presence", "pace", "service", "journal", "clock"].map((limit) => queueAdvice(detailOf({ limited_by: limit }), speech));
    assert.ok(advices.every((advice) => advice), advices.join());
  }
});

test("a wrong wait says how many times too long or too short it was", () => {
  const told = (...factors: number[]) => {
    const { key, values } = waitsWords(factors.map((factor, n) => ({ atMs: n, had: 100, told: { low: factor * 90, high: factor * 110 } })), english);
    return english.say(key, values);
  };
  assert.equal(told(), "Wait told and wait had");
  assert.equal(told(1.1, 0.98), "The wait that visitors are told is right: ±6%");
  assert.equal(told(5.2, 5.2), "Visitors were told about 5.2 times too long a wait. Some may give up.");
  assert.equal(told(0.25, 0.25), "Visitors waited about 4 times as long as they were told. Tell them in a message.");
  assert.match(told(0.4, 1.6), /off by 60%, too long and too short/);
});
