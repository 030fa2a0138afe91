// Times in the visitor's locale.

import assert from "node:assert/strict";
import { test } from "node:test";

import { PageFormat } from "../src/format.js";

test("an age is in words, and never of no time", () => {
  const format = new PageFormat("en-US");
  const ages = [0, 4_200, 130_000, 3_600_000, 180_000_000].map((ms) => format.ago(ms));
  assert.deepEqual(ages, ["1 second ago", "4 seconds ago", "2 minutes ago", "1 hour ago", "2 days ago"]);
});

test("a duration has two units at most, in words", () => {
  const format = new PageFormat("en-US");
  const durations = [-5, 47_001, 60_000, 251_400, 3_723_000, 3_605_000, 183_845_000].map((ms) => format.duration(ms));
  assert.deepEqual(durations, [
    ...["0 seconds", "48 seconds", "1 minute", "4 minutes, 12 seconds"],
    ...["1 hour, 2 minutes", "1 hour, 5 seconds", "2 days, 3 hours"],
  ]);
  assert.equal(new PageFormat("ar-EG").duration(132_000), "دقيقتان و١٢ ثانية");
});

test("a time of another day has its date", () => {
  const format = new PageFormat("en-US");
  assert.match(format.clock(Date.now() + 60_000), /^\d+:\d\d\s[AP]M$/);
  assert.match(format.clock(Date.now() + 50 * 3_600_000), /day, \w+ \d+ at \d+:\d\d/);
  assert.match(format.time(Date.now()), /M [A-Z]/);
});
