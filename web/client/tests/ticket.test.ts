// Entering with a ticket, and the secret that the answer has.

import assert from "node:assert/strict";
import { test } from "node:test";

import { memoryStorage } from "../src/storage.js";
import { nearEntry } from "./samples.js";
import { settle, stateOf, useScene } from "./scene.js";

const scene = useScene();
const SECRET = "vst_AAAA";

const bodyOf = (n: number) => JSON.parse(scene().requests[n]!.body as string);

test("a ticket is in the body of enter, and the secret proves the visitor from then on", async () => {
  await scene().joinWith(nearEntry({ visitor: SECRET, retry_after_ms: 1_000 }), { ticket: "a.b.c" });
  await scene().pass(1_000);
  assert.deepEqual(bodyOf(0), { ticket: "a.b.c" });
  assert.equal(scene().requests[1]!.headers["X-Visitor-Id"], SECRET);
});

test("without a ticket the body of enter is empty", async () => {
  await scene().joinWith(nearEntry());
  assert.deepEqual(bodyOf(0), {});
});

test("a new ticket is fetched before each try to enter", async () => {
  let number = 0;
  scene().answer = () => ({ status: 503, body: {} });
  scene().join({ ticket: async () => `ticket ${++number}` });
  await scene().pass(10_000);
  assert.ok(number > 1);
  assert.deepEqual(
    scene().requests.map((_, n) => bodyOf(n).ticket),
    scene().requests.map((_, n) => `ticket ${n + 1}`),
  );
});

test("a ticket that cannot be fetched is tried again", async () => {
  let tries = 0;
  scene().answer = () => ({ body: nearEntry() });
  const place = scene().join({ ticket: () => (++tries < 3 ? Promise.reject(new Error("offline")) : "a.b.c") });
  await scene().pass(30_000);
  assert.equal(place.state.status, "waiting");
  assert.equal(bodyOf(0).ticket, "a.b.c");
});

for (const code of ["ticket-required", "invalid-ticket", "identity-missing"]) {
  test(`${code} ends joining`, async () => {
    scene().answer = () => ({ status: 403, body: { code, reason: "expired" } });
    const place = scene().join({ ticket: "a.b.c" });
    await scene().pass(60_000);
    assert.equal(stateOf("failed", place).problem.code, code);
    assert.equal(scene().requests.length, 1);
  });
}

test("a secret counts in its own queue, and outlasts the page", async () => {
  const storage = memoryStorage();
  scene().answer = ({ path }) => ({
    body: nearEntry({ token: path.split("/")[2]!, ...(path === "/queues/a/entries" && { visitor: SECRET }) }),
  });
  for (const queue of ["a", "b", "a"]) {
    const place = scene().join({ queue, storage, ticket: "a.b.c" });
    await settle();
    place.close();
  }
  const [first, other, again] = scene().requests.map((request) => request.headers["X-Visitor-Id"]);
  assert.equal(first, other, "another queue does not know the secret");
  assert.notEqual(first, SECRET);
  assert.equal(again, SECRET);
});
