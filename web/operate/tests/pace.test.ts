// What a pace means for the visitors.

import assert from "node:assert/strict";
import { test } from "node:test";

import { findConsequence, perMinute } from "../src/pace.js";

const NOW_MS = Date.UTC(2026, 10, 26, 20, 33);
const LINE = { nowMs: NOW_MS, waiting: 1_000, sessionSeconds: 300, estimatedSeconds: null };
const pace = (batch: number, capacity: number, intervalSeconds = 10) => ({ batch, intervalSeconds, capacity });

test("a pace in entries per minute counts the interval", () => {
  assert.deepEqual([perMinute(pace(20, 1)), perMinute(pace(20, 1, 4))], [120, 300]);
});

test("twice the pace lets the last one in in half the time", () => {
  const found = findConsequence(pace(10, 10_000), pace(20, 10_000), LINE);
  assert.deepEqual([found.before, found.after], [60, 120]);
  assert.equal(found.lastBeforeMs! - NOW_MS, 1_000_000);
  assert.equal(found.lastAfterMs! - NOW_MS, 500_000);
  assert.ok(!found.isHeld);
});

test("a capacity that is too small holds the pace, before and after", () => {
  const found = findConsequence(pace(20, 10_000), pace(28, 500), LINE);
  assert.deepEqual([found.before, found.after, found.paceAfter, found.slotsNeeded, found.isHeld], [120, 100, 168, 840, true]);
  assert.equal(found.lastAfterMs! - NOW_MS, 600_000);
});

test("a larger capacity alone brings the last one in earlier", () => {
  const found = findConsequence(pace(28, 500), pace(28, 1_000), LINE);
  assert.deepEqual([found.before, found.after, found.isHeld], [100, 168, false]);
  assert.ok(found.lastAfterMs! < found.lastBeforeMs!);
});

test("the estimate of the server is scaled by the rates", () => {
  const found = findConsequence(pace(10, 10_000), pace(20, 10_000), { ...LINE, estimatedSeconds: 600 });
  assert.deepEqual([found.lastBeforeMs! - NOW_MS, found.lastAfterMs! - NOW_MS], [600_000, 300_000]);
});

test("an empty line has no last one", () => {
  const found = findConsequence(pace(10, 10), pace(20, 10), { ...LINE, waiting: 0 });
  assert.deepEqual([found.lastBeforeMs, found.lastAfterMs], [null, null]);
});
