// Orders to several queues: the command for each, and a few at once.

import assert from "node:assert/strict";
import { test } from "node:test";

import { needsName, ORDERS } from "../src/orders.js";
import { SEVERAL_ORDERS, commandFor, forEachFew } from "../src/several.js";

test("each queue gets its command, and no order needs a confirmation", () => {
  assert.deepEqual(commandFor("pause", "a", {}), { op: "pause", queue: "a" });
  assert.deepEqual(commandFor("message", "b", { message: '{"default":"en","en":"Slow"}' }), { op: "update", queue: "b", settings: { message: { default: "en", en: "Slow" } } });
  assert.deepEqual(commandFor("message", "b", { message: "null" }), { op: "update", queue: "b", settings: { message: null } });
  assert.ok(SEVERAL_ORDERS.every((name) => !needsName(ORDERS[name], {}, { settings: null, revision: null })));
});

test("a few commands are under way at once, until the operator stops", async () => {
  let [running, most] = [0, 0];
  const sent: number[] = [];
  const act = async (n: number) => {
    most = Math.max(most, ++running);
    sent.push(n);
    await new Promise((resolve) => setTimeout(resolve, 1));
    running--;
  };
  await forEachFew([1, 2, 3, 4, 5, 6, 7], 3, act, () => true);
  assert.deepEqual([most, sent], [3, [1, 2, 3, 4, 5, 6, 7]]);
  sent.length = 0;
  await forEachFew([1, 2, 3, 4, 5, 6, 7], 2, act, () => sent.length < 4);
  assert.deepEqual(sent, [1, 2, 3, 4]);
});
