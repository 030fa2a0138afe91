// What the samples of a queue say, and how charts are drawn from them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { MINUTES, arrivalsPerSecond, compareWaits, countPerMinute, meanError } from "../src/samples.js";
import { areaPath, bandPath, linePath, pointOf, roundUp, splitWhere } from "../src/scales.js";
import type { Sample } from "../src/types.js";

const NOW_MS = 1_795_636_800_000;
const MINUTE_MS = 60_000;

// One sample every five seconds, the last one now.
const samples = (count: number, make: (ageMs: number, n: number) => Partial<Sample>): Sample[] =>
  Array.from({ length: count }, (_, n) => {
    const ageMs = (count - 1 - n) * 5_000;
    const empty = { waiting: null, capacity: null, batch: 20, interval_seconds: 10, paused: false, state: null, promoted: null, entered: null };
    return { at_ms: NOW_MS - ageMs, ...empty, estimated_wait_seconds: null, had_wait_seconds: null, ...make(ageMs, n) };
  });

test("each minute has the entries that were promoted in it", () => {
  const columns = countPerMinute(samples(361, (_, n) => ({ promoted: n * 10 })), NOW_MS);
  assert.equal(columns.length, MINUTES);
  assert.deepEqual(columns.slice(1).map(({ count }) => count), Array(MINUTES - 1).fill(120));
  assert.deepEqual(new Set(columns.map(({ pace }) => pace)), new Set([120]));
});

test("visitors of the fast track take of the pace too", () => {
  const columns = countPerMinute(samples(361, (_, n) => ({ promoted: n * 6, fast_tracked: n * 4 })), NOW_MS);
  assert.deepEqual(columns.slice(1).map(({ count }) => count), Array(MINUTES - 1).fill(120));
});

test("a pause is a gap that says that it is one", () => {
  const isPaused = (ageMs: number) => ageMs >= 2 * MINUTE_MS && ageMs < 4 * MINUTE_MS;
  let promoted = 0;
  const columns = countPerMinute(samples(120, (ageMs) => ({ promoted: isPaused(ageMs) ? promoted : (promoted += 10), paused: isPaused(ageMs) })), NOW_MS);
  assert.deepEqual(columns.slice(-4).map(({ count, wasPaused }) => [count, wasPaused]), [[0, true], [0, true], [120, false], [120, false]]);
});

test("a minute without samples is not known, and a gap is no burst", () => {
  const all = samples(120, (_, n) => ({ promoted: n * 10 })).filter(({ at_ms }) => NOW_MS - at_ms < MINUTE_MS || NOW_MS - at_ms > 5 * MINUTE_MS);
  const counts = countPerMinute(all, NOW_MS).map(({ count }) => count);
  assert.deepEqual(counts.slice(-5, -1), [null, null, null, null]);
  assert.equal(counts.at(-1), 110);
});

test("a total that begins anew counts from zero", () => {
  const columns = countPerMinute(samples(3, (_, n) => ({ promoted: [900, 910, 4][n]! })), NOW_MS);
  assert.equal(columns.at(-1)!.count, 14);
});

test("arrivals are those of the last minute", () => {
  assert.equal(arrivalsPerSecond(samples(100, (_, n) => ({ entered: n * 50 })), NOW_MS), 10);
  assert.equal(arrivalsPerSecond(samples(1, () => ({ entered: 5 })), NOW_MS), null);
});

test("a wait is compared with what was told when it began", () => {
  const told = (ageMs: number) => ({ estimated_wait_seconds: ageMs > 500_000 ? { low: 80, high: 120 } : { low: 300, high: 300 } });
  const points = compareWaits(samples(240, (ageMs) => ({ ...told(ageMs), had_wait_seconds: ageMs === 450_000 ? 110 : null })));
  assert.deepEqual(points.map(({ had, told }) => [had, told]), [[110, { low: 80, high: 120 }]]);
  assert.equal(meanError(points)!.toFixed(3), (10 / 110).toFixed(3));
});

test("a wait from before the first sample has nothing to compare", () => {
  const points = compareWaits(samples(10, (ageMs) => ({ estimated_wait_seconds: { low: 60, high: 60 }, had_wait_seconds: ageMs ? null : 900 })));
  assert.deepEqual([points.map(({ told }) => told), meanError(points)], [[null], null]);
});

test("a scale ends at a round number", () => {
  assert.deepEqual([0, 1, 12, 119, 132, 12_480, 98_000].map(roundUp), [1, 1, 15, 150, 150, 15_000, 100_000]);
});

test("a chart has its points in place", () => {
  const points = [pointOf(0, 0, 0, 100, 10), pointOf(50, 5, 0, 100, 10), pointOf(100, 20, 0, 100, 10)];
  assert.deepEqual(points, [[0, 100], [160, 50], [320, 0]]);
  assert.equal(linePath(points), "M0.0 100.0L160.0 50.0L320.0 0.0");
  assert.equal(areaPath(points.slice(1)), "M160.0 50.0L320.0 0.0L320.0 100.0L160.0 100.0Z");
  assert.equal(bandPath([[0, 9]], [[0, 5]]), "M0.0 5.0L0.0 9.0Z");
  assert.deepEqual([areaPath([]), bandPath([], [])], ["", ""]);
  assert.deepEqual(splitWhere([1, 2, 9, 10], (a, b) => b - a > 1), [[1, 2], [9, 10]]);
});
