// Where the visitor id and the place are kept, and storages that fail.

import assert from "node:assert/strict";
import { test } from "node:test";

import { memoryStorage } from "../src/storage.js";
import type { PlaceStorage } from "../src/types.js";
import { farEntry, nearEntry } from "./samples.js";
import { settle, stateOf, useScene } from "./scene.js";

const scene = useScene();

/** A storage whose answers come later, such as one of a mobile app. */
function asyncStorage(delayMs = 50): PlaceStorage & { items: Map<string, string> } {
  const items = new Map<string, string>();
  const later = (task: () => unknown) => new Promise<never>((done) => setTimeout(() => done(task() as never), delayMs));
  return {
    items,
    getItem: (key) => later(() => items.get(key) ?? null),
    setItem: (key, value) => later(() => items.set(key, value)),
  };
}

test("an asynchronous storage keeps visitor and place", async () => {
  const storage = asyncStorage();
  scene().answer = () => ({ body: farEntry({ position: 70 }) });
  const place = scene().join({ storage });
  await scene().pass(1_000, 10);
  assert.equal(place.state.status, "waiting");
  place.close();
  scene().answer = () => ({ body: farEntry({ position: 80 }) });
  const again = scene().join({ storage });
  await scene().pass(1_000, 10);
  assert.deepEqual(scene().paths, ["POST /queues/q/entries", "GET /queues/q/entries/t?wait=0"]);
  assert.equal(stateOf("waiting", again).position, 70);
  const [first, second] = scene().requests.map((request) => request.headers["X-Visitor-Id"]);
  assert.ok(first && first === second);
});

test("the visitor id is stored before the first request", async () => {
  const storage = asyncStorage();
  scene().answer = ({ headers }) => {
    assert.equal(storage.items.get("vestibule:visitor"), headers["X-Visitor-Id"]);
    return { body: nearEntry() };
  };
  const place = scene().join({ storage });
  await scene().pass(500, 10);
  assert.equal(place.state.status, "waiting");
});

test("a storage that never answers does not keep the visitor from joining", async () => {
  const never = () => new Promise<never>(() => {});
  scene().answer = () => ({ body: nearEntry() });
  const place = scene().join({ storage: { getItem: never, setItem: never } });
  await scene().pass(15_000, 100);
  assert.equal(place.state.status, "waiting");
});

test("writes of an asynchronous storage stay in order", async () => {
  const items = new Map<string, string>();
  let delayMs = 800;
  const storage: PlaceStorage = {
    getItem: (key) => items.get(key) ?? null,
    // Each write is faster than the one before.
    setItem: (key, value) => new Promise((done) => setTimeout(() => done(items.set(key, value)), (delayMs /= 2))),
  };
  scene().answer = ({ method }) => (method === "DELETE" ? { status: 204 } : { body: nearEntry() });
  const place = scene().join({ storage });
  await scene().pass(450, 10);
  assert.equal(place.state.status, "waiting");
  await place.leave();
  await scene().pass(1_000, 10);
  assert.equal(items.get("vestibule:place:https://api.example/queues/q"), "");
});

test("a visitor has one id for all queues, and a place in each", async () => {
  const storage = memoryStorage();
  scene().answer = ({ path }) => ({ body: nearEntry({ token: path.split("/")[2]! }) });
  for (const queue of ["a", "b", "a", "b"]) {
    const place = scene().join({ queue, storage });
    await settle();
    place.close();
  }
  assert.deepEqual(scene().paths, [
    "POST /queues/a/entries",
    "POST /queues/b/entries",
    "GET /queues/a/entries/a?wait=0",
    "GET /queues/b/entries/b?wait=0",
  ]);
  assert.equal(new Set(scene().requests.map((request) => request.headers["X-Visitor-Id"])).size, 1);
});

const failingStorages: [string, PlaceStorage][] = [
  ["throws", { getItem: () => assert.fail("forbidden"), setItem: () => assert.fail("full") }],
  [
    "rejects",
    { getItem: () => Promise.reject(new Error("forbidden")), setItem: () => Promise.reject(new Error("full")) },
  ],
  ["has a broken place", { getItem: () => "\u0000{", setItem: () => {} }],
];
for (const [name, storage] of failingStorages) {
  test(`a storage that ${name} does not keep the visitor from joining`, async () => {
    scene().answer = ({ method }) =>
      method === "POST" ? { body: farEntry({ position: 3 }) } : { status: 400, body: { code: "invalid-field" } };
    const place = scene().join({ storage });
    await settle();
    assert.equal(stateOf("waiting", place).position, 3);
  });
}

test("an id that the server generates is stored and used", async () => {
  const { randomUUID } = crypto;
  Object.defineProperty(crypto, "randomUUID", { value: undefined, configurable: true });
  try {
    const storage = memoryStorage();
    await scene().joinWith(nearEntry({ visitor: "from-server", retry_after_ms: 1_000 }), { storage });
    await scene().pass(1_000);
    const ids = scene().requests.map((request) => request.headers["X-Visitor-Id"]);
    assert.deepEqual(ids, [undefined, "from-server"]);
    assert.equal(storage.getItem("vestibule:visitor"), "from-server");
  } finally {
    Object.defineProperty(crypto, "randomUUID", { value: randomUUID, configurable: true });
  }
});

test("two clients in one process are two visitors", async () => {
  await scene().joinWith(nearEntry());
  await scene().joinWith(nearEntry());
  const [first, second] = scene().requests.map((request) => request.headers["X-Visitor-Id"]);
  assert.notEqual(first, second);
});
