// The commands that the orders become, and what a search means.

import assert from "node:assert/strict";
import { test } from "node:test";

import { toMessage, toTexts } from "../src/message_field.js";
import { MENU, ORDERS, needsName, readSearch, type Order, type OrderName, type Seen, type Values } from "../src/orders.js";
import type { Settings } from "../src/types.js";

const TOKEN = "0f1e2d3c-4b5a-8697-8877-665544332211";
const SETTINGS = { batch: 20, interval_seconds: 10, capacity: 500, lane_share: 10, opens_at_ms: null, closes_at_ms: Date.UTC(2036, 0, 1), ends_at_ms: null, message: { default: "en", en: "Hi", de: "Hallo" } } as unknown as Settings;
const SEEN: Seen = { settings: SETTINGS, revision: "abcd" };
const order = (name: OrderName): Order => ORDERS[name];
const commandOf = (name: OrderName, values: Values = {}, seen = SEEN) => order(name).toCommand("q", { ...order(name).first?.(seen.settings), ...values }, seen);

test("each order becomes the command of the admin function", () => {
  const cases: [OrderName, Values, object][] = [
    ["pause", {}, { op: "pause" }],
    ["let_in", { who: "head", count: "3", token: TOKEN }, { op: "promote", count: 3 }],
    ["let_in", { who: "one", count: "3", token: TOKEN, over_pace: "on" }, { op: "promote", token: TOKEN, over_pace: true }],
    ["lane", { token: TOKEN, lane: "0" }, { op: "lane", token: TOKEN, lane: 0 }],
    ["evict", { token: TOKEN }, { op: "evict", token: TOKEN }],
    ["evict_source", { source: "k3rT0pW9x_Q", all: "" }, { op: "evict", source: "k3rT0pW9x_Q" }],
    ["block", { target: "source", source: "k3rT0pW9x_Q", token: TOKEN, for_seconds: "600" }, { op: "block", source: "k3rT0pW9x_Q", for_seconds: 600 }],
    ["unblock", { target: "token", token: TOKEN }, { op: "unblock", token: TOKEN }],
    ["report", { format: "csv" }, { op: "report", format: "csv" }],
  ];
  for (const [name, values, { op, ...fields }] of cases as [OrderName, Values, any][]) assert.deepEqual(commandOf(name, values), { op, queue: "q", ...fields });
});

test("an order sends the settings that its operator changed, and what they were when they were seen", () => {
  const update = (settings: object) => ({ op: "update", queue: "q", settings, revision: "abcd" });
  assert.deepEqual(commandOf("pace", { batch: "28", capacity: "500" }), update({ batch: 28 }));
  assert.deepEqual(commandOf("lane_share", { lane_share: "25" }), update({ lane_share: 25 }));
  assert.deepEqual(commandOf("times", { closes_at_ms: "" }), update({ closes_at_ms: null }));
  assert.deepEqual(commandOf("times"), update({}));
  assert.deepEqual(commandOf("message"), update({}));
  assert.deepEqual(commandOf("message", { message: '"Hi"' }), update({ message: "Hi" }));
  assert.deepEqual(commandOf("set_back", { settings: '{"batch":10}' }, { settings: SETTINGS, revision: "efgh" }), { ...update({ batch: 10 }), revision: "efgh" });
  // The message stays as it is unless the operator changes it.
  const finish = { op: "finish", queue: "q", reason: "over" };
  assert.deepEqual(commandOf("finish", { reason: "over" }), finish);
  assert.deepEqual(commandOf("finish", { reason: "over", message: '{"default":"en","en":"Bye","de":"Hallo"}' }), { ...finish, message: { default: "en", en: "Bye", de: "Hallo" } });
  // Without the table no settings are known, so all are sent.
  assert.deepEqual(commandOf("lane_share", { lane_share: "25" }, { settings: null, revision: null }), { op: "update", queue: "q", settings: { lane_share: 25 } });
});

test("orders that end visits or could flood the service need the name", () => {
  const destructive = (Object.keys(ORDERS) as OrderName[]).filter((name) => needsName(order(name), {}, SEEN));
  assert.deepEqual(destructive.sort(), ["close", "delete", "drain", "evict", "evict_source", "finish"]);
  assert.ok(destructive.every((name) => MENU.includes(name)));
  assert.ok(needsName(ORDERS.times, { ends_at_ms: "2020-01-01T10:00" }, SEEN));
  assert.ok(!needsName(ORDERS.times, { ends_at_ms: "2036-01-01T10:00" }, SEEN));
  assert.ok(needsName(ORDERS.pace, { capacity: "5000" }, SEEN));
  assert.ok(!needsName(ORDERS.pace, { capacity: "4999" }, SEEN));
  assert.ok(needsName(ORDERS.set_back, { settings: '{"capacity":5000}' }, SEEN));
});

test("a message keeps each language that exists, and its first one for all others", () => {
  const message = { default: "de", en: "Hi", de: "Hallo", "zh-hant": "您好" };
  assert.deepEqual(toMessage(toTexts(message), "de"), message);
  assert.equal(toMessage(toTexts("Hi")), "Hi");
  assert.deepEqual(toMessage([["en", " "], ["ko", "안녕 "]], "en"), { default: "ko", ko: "안녕" });
  assert.equal(toMessage([["en", ""]]), null);
  assert.deepEqual(toTexts(null), []);
});

test("a search finds a queue before a visitor", () => {
  const find = (text: string) => readSearch(text, ["TIMEDEAL:123", "demo:1"], "demo:1");
  assert.deepEqual(find("time"), { queue: "TIMEDEAL:123" });
  assert.deepEqual(find(TOKEN), { command: { op: "inspect", queue: "demo:1", token: TOKEN } });
  assert.deepEqual(find("0f1e2d3c-4b5a-4697-8877-665544332211"), {
    command: { op: "inspect", queue: "demo:1", visitor: "0f1e2d3c-4b5a-4697-8877-665544332211", kind: "anon" },
  });
  assert.deepEqual(find("ada"), { command: { op: "inspect", queue: "demo:1", visitor: "ada", kind: "known" } });
  assert.equal(find("  "), undefined);
});
