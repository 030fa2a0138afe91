// The commands that the orders become, and what a search means.

import assert from "node:assert/strict";
import { test } from "node:test";

import { MENU, ORDERS, completeCommand, readSearch, toMessage, type Order, type OrderName, type Values } from "../src/orders.js";

const TOKEN = "0f1e2d3c-4b5a-8697-8877-665544332211";
const commandOf = (name: OrderName, values: Values = {}) => ORDERS[name].toCommand("q", values);

test("each order becomes the command of the admin function", () => {
  const cases: [OrderName, Values, object][] = [
    ["pause", {}, { op: "pause" }],
    ["pace", { batch: "28", capacity: "600" }, { op: "update", settings: { batch: 28, capacity: 600 } }],
    ["let_in", { who: "head", count: "3", token: TOKEN }, { op: "promote", count: 3 }],
    ["let_in", { who: "one", count: "3", token: TOKEN, over_pace: "on" }, { op: "promote", token: TOKEN, over_pace: true }],
    ["lane", { token: TOKEN, lane: "0" }, { op: "lane", token: TOKEN, lane: 0 }],
    ["lane_share", { lane_share: "25" }, { op: "update", settings: { lane_share: 25 } }],
    ["evict", { token: TOKEN }, { op: "evict", token: TOKEN }],
    ["evict_source", { source: "k3rT0pW9x_Q", all: "" }, { op: "evict", source: "k3rT0pW9x_Q" }],
    ["block", { target: "source", source: "k3rT0pW9x_Q", token: TOKEN, for_seconds: "600" }, { op: "block", source: "k3rT0pW9x_Q", for_seconds: 600 }],
    ["unblock", { target: "token", token: TOKEN }, { op: "unblock", token: TOKEN }],
    ["report", { format: "csv" }, { op: "report", format: "csv" }],
    ["times", { closes_at_ms: "" }, { op: "update", settings: { opens_at_ms: null, closes_at_ms: null, ends_at_ms: null } }],
  ];
  for (const [name, values, { op, ...fields }] of cases as [OrderName, Values, any][]) assert.deepEqual(commandOf(name, values), { op, queue: "q", ...fields });
});

test("only destructive orders are confirmed, and none names a caller", () => {
  const complete = (name: OrderName) => completeCommand(ORDERS[name], commandOf(name, { token: TOKEN }), "q", 3);
  assert.deepEqual(complete("close"), { op: "close", queue: "q", confirm: "q", epoch: 3 });
  assert.deepEqual(complete("pause"), { op: "pause", queue: "q" });
  const destructive = (Object.keys(ORDERS) as OrderName[]).filter((name) => (ORDERS[name] as Order).isDestructive);
  assert.deepEqual(destructive.sort(), ["close", "delete", "evict", "evict_source", "finish"]);
  assert.ok(destructive.every((name) => MENU.includes(name)));
});

test("a message has the filled languages, and the first is for all others", () => {
  assert.deepEqual(toMessage({ en: " ", ko: "안녕", ja: "" }), { default: "ko", ko: "안녕" });
  assert.deepEqual(toMessage({ en: "Hi", other_language: "PT", other_text: "Oi" }), { default: "en", en: "Hi", pt: "Oi" });
  assert.equal(toMessage({ en: "" }), null);
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
