// What a change of settings means, what may be a slip, and what a colleague has changed.

import assert from "node:assert/strict";
import { test } from "node:test";

import EN from "../lang/en.json";
import { canSetBack, describeOvertakers, describeTimes, findDoubts } from "../src/changes.js";
import { ConsoleFormat } from "../src/format.js";
import type { Speech } from "../src/sentences.js";
import type { Detail, Settings } from "../src/types.js";
import type { OperatorOrder } from "../src/wire.js";

const speech: Speech = {
  format: new ConsoleFormat("en-US"),
  say: (key, values = {}) => String((EN as Record<string, unknown>)[key] ?? "").replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? ""),
};
const NOW_MS = new Date(2026, 10, 26, 20, 33).getTime();
const SETTINGS = { batch: 20, interval_seconds: 10, capacity: 500, opens_at_ms: NOW_MS + 60_000, closes_at_ms: null, ends_at_ms: null, entrance: "open", paused: false, message: null } as unknown as Settings;
const order = (fields: Partial<OperatorOrder>): OperatorOrder => ({ generation: 1, at_ms: NOW_MS - 60_000, op: "update", arguments: "", revision: "abcd", ...fields });
const detail = (settings: Partial<Settings>, orders: OperatorOrder[] = [], state = "open") =>
  ({ queue: "q", now_ms: NOW_MS, stats: { state }, settings: { ...SETTINGS, ...settings }, revision: "efgh", samples: [], orders }) as unknown as Detail;

test("a number beyond three times is asked about once more", () => {
  assert.deepEqual(findDoubts({ capacity: 20_000, batch: 60, interval_seconds: 3 }, SETTINGS, speech), [
    "Capacity: 20,000 instead of 500. I mean it.",
    "Interval (s): 3 instead of 10. I mean it.",
  ]);
  assert.deepEqual(findDoubts({ opens_at_ms: 5, message: "Hi" }, SETTINGS, speech), []);
});

test("a time that has passed says what happens at once", () => {
  const past = "2020-01-01T10:00";
  assert.match(describeTimes({ opens_at_ms: "" }, SETTINGS, NOW_MS, speech), /^The queue opens at once\.$/);
  assert.match(describeTimes({ opens_at_ms: "2036-01-01T10:00", closes_at_ms: past, ends_at_ms: past }, SETTINGS, NOW_MS, speech), /^No newcomer enters.*The line ends at once/);
  assert.equal(describeTimes({ opens_at_ms: "" }, { ...SETTINGS, opens_at_ms: null }, NOW_MS, speech), "");
  // A queue that moves would stop until then.
  assert.match(describeTimes({ opens_at_ms: "2036-01-01T10:00" }, { ...SETTINGS, opens_at_ms: null }, NOW_MS, speech), /^No visitor is let in before that time/);
});

test("settings are set back for ten minutes, and never what ended visits", () => {
  const slip = order({ settings_before: { capacity: 10 } });
  assert.ok(canSetBack(slip, detail({})));
  assert.ok(!canSetBack({ ...slip, at_ms: NOW_MS - 601_000 }, detail({})));
  assert.ok(!canSetBack(slip, detail({ capacity: 10 })), "it is so already");
  assert.ok(!canSetBack({ ...slip, op: "reset" }, detail({})));
  assert.ok(!canSetBack(order({}), detail({})), "an order that changed no settings");
  const later = order({ at_ms: NOW_MS - 30_000, settings_before: { capacity: 20 } });
  assert.ok(!canSetBack(slip, detail({}, [slip, later])), "a later order changed the same setting");
  assert.ok(canSetBack(later, detail({}, [slip, later])));
  assert.ok(!canSetBack(slip, detail({}, [], "finished")));
  assert.ok(canSetBack(order({ op: "drain", settings_before: { entrance: "open" } }), detail({ entrance: "draining" })));
  assert.ok(!canSetBack(order({ op: "open", settings_before: { entrance: "finished" } }), detail({})));
  assert.ok(!canSetBack(order({ settings_before: { ends_at_ms: null } }), detail({ ends_at_ms: 5 }, [], "finished")));
});

test("a dialog says who has changed its settings meanwhile", () => {
  const seen = { settings: SETTINGS, revision: "abcd" };
  const orders = [order({ caller: "mina", settings_before: { capacity: 500 } })];
  const told = describeOvertakers(["capacity", "batch"], seen, detail({ capacity: 400, batch: 30 }, orders), speech);
  assert.deepEqual(told, ["Capacity: 400 now, changed by mina at 20:32.", "Batch: 30 now, changed by hand in the table."]);
  assert.deepEqual(describeOvertakers(["paused"], seen, detail({ capacity: 400 }, orders), speech), []);
});
