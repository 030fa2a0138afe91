// The order of the rail, and its filter.

import assert from "node:assert/strict";
import { test } from "node:test";

import { FILTERS, RailOrder, firstQueue, isOfFilter, sortQueues, type QueueItem } from "../src/rail_order.js";

const item = (queue: string, waiting: number | undefined, row: object = {}): QueueItem => ({ queue, row: { queue, ...(waiting === undefined ? {} : { waiting, state: "open" as const }), ...row }, waiting: [] });
const names = (queues: readonly QueueItem[]) => queues.map(({ queue }) => queue).join(" ");

const QUEUES = [
  item("q10", 5),
  item("q2", 5),
  item("big", 900),
  item("halted", 3, { state: "paused" }),
  item("shut", 2, { state: "closed" }),
  item("emptied", 0, { state: "closed" }),
  item("gone", undefined, { problem: "no answer" }),
  item("late", 7, { clocks_apart: true }),
];

test("queues that need a look are first, then the longest lines", () => {
  assert.equal(names(sortQueues(QUEUES)), "late gone halted shut big q2 q10 emptied");
  assert.equal(firstQueue([item("a", undefined, { problem: "no" }), item("b", 1)]), "b");
  assert.equal(firstQueue([]), "");
});

test("the filter knows each state, and what needs a look", () => {
  const shown = Object.fromEntries(FILTERS.map((filter) => [filter, names(QUEUES.filter((queue) => isOfFilter(queue, filter)))]));
  assert.equal(shown["all"], names(QUEUES));
  assert.equal(shown["look"], "halted shut gone late");
  assert.deepEqual([shown["paused"], shown["closed"], shown["open"]], ["halted", "shut emptied", "q10 q2 big late"]);
  assert.deepEqual([shown["scheduled"], shown["draining"], shown["finished"]], ["", "", ""]);
});

test("numbers alone move no queue within a minute", () => {
  const order = new RailOrder();
  const at = (nowMs: number, ...waiting: number[]) => names(order.arrange([item("a", waiting[0]), item("b", waiting[1])], nowMs, false));
  assert.equal(at(0, 9, 5), "a b");
  assert.equal(at(5_000, 4, 5), "a b");
  assert.equal(at(60_000, 4, 5), "b a");
});

test("a queue that begins to need a look rises at once, but not in use", () => {
  const order = new RailOrder();
  const at = (state: string, isInUse: boolean, more: QueueItem[] = []) => names(order.arrange([item("a", 9), item("b", 5, { state }), ...more], 1_000, isInUse));
  assert.equal(at("open", false), "a b");
  assert.equal(at("paused", true), "a b");
  assert.equal(at("paused", true, [item("new", 100)]), "a b new");
  assert.equal(at("paused", false, [item("new", 100)]), "b new a");
});
