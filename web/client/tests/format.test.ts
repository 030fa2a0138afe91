// Numbers and times in the visitor's locale.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Format } from "../src/format.js";

test("a range is in the unit that suits it", () => {
  const format = new Format("en-US");
  const cases = [
    [5, 15, "5–15 seconds"],
    [0, 1, "1 second"],
    [61, 90, "1–2 minutes"],
    // The lower bound is rounded, and the upper one never promises too much.
    [479, 599, "8–10 minutes"],
    [590, 595, "10 minutes"],
    [5_000, 5_399, "83–90 minutes"],
    [5_500, 9_000, "2–3 hours"],
    [100_000, 129_599, "28–36 hours"],
    [100_000, 259_200, "1–3 days"],
  ] as const;
  for (const [low, high, text] of cases) assert.equal(format.range(low, high), text);
});

test("a countdown has as many parts as it needs", () => {
  const format = new Format("en-US");
  const cases = [
    [47_001, "0:48"],
    [600_000, "10:00"],
    [3_723_000, "1:02:03"],
    [86_400_000, "1 day 0:00:00"],
    [183_845_000, "2 days 3:04:05"],
    [-5, "0:00"],
  ] as const;
  for (const [ms, text] of cases) assert.equal(format.left(ms), text);
  assert.equal(new Format("ar-EG").left(58_000), "٠:٥٨");
});
