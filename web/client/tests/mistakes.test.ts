// Mistakes of the integrator: each is told, and none looks like an outage alone.

import assert from "node:assert/strict";
import { test } from "node:test";

import { memoryStorage } from "../src/storage.js";
import type { QueueOptions } from "../src/types.js";
import { FakeChannel, FakeLocks } from "./fake_browser.js";
import { nearEntry } from "./samples.js";
import { FakePresence, settle, stateOf, useScene } from "./scene.js";

const scene = useScene();

test("a base that is neither address nor path throws at once", () => {
  for (const base of ["api.example", "localhost:8080", "api/v1", "./api", "undefined"]) {
    assert.throws(() => scene().join({ base }), { name: "TypeError", message: `base is neither address nor path: ${base}` });
  }
  for (const base of ["", "/", "/api", "https://api.example/Prod", "//api.example", "capacitor://localhost"]) scene().join({ base });
});

test("a slash at the end of base changes neither the address nor the place", async () => {
  const storage = memoryStorage();
  (await scene().joinWith(nearEntry(), { storage, base: "https://api.example//" })).close();
  scene().join({ storage, base: "https://api.example" });
  await settle();
  assert.deepEqual(scene().paths, ["POST /queues/q/entries", "GET /queues/q/entries/t?wait=0"]);
});

const refused = new TypeError("Failed to fetch");
const mistakes: [string, Partial<QueueOptions>, unknown][] = [
  ["headers() that throws", { headers: () => { throw refused; } }, refused],
  ["a ticket that is not there", { ticket: () => Promise.reject(refused) }, refused],
  ["a refused origin", { fetch: () => Promise.reject(refused) }, refused],
];
for (const [name, options, cause] of mistakes) {
  test(`${name} is the cause of the problem, and the console has it once`, async () => {
    const place = scene().join(options);
    await scene().pass(60_000);
    const { problem } = place.state;
    assert.deepEqual([problem?.code, problem?.cause, problem?.message], ["network", cause, "No answer of the API"]);
    assert.deepEqual(scene().warnings, [["No answer of the API", "https://api.example/queues/q", cause]]);
  });
}

test("a wrong stage is told once in the console, by its status", async () => {
  scene().answer = () => ({ status: 403, body: { message: "Forbidden" } });
  const place = scene().join();
  await scene().pass(60_000);
  assert.deepEqual([place.state.status, place.state.problem?.message], ["joining", "HTTP 403"]);
  assert.deepEqual(scene().warnings, [["No answer of the API", "https://api.example/queues/q", 403]]);
});

test("a page of HTML is told with what could not be read", async () => {
  scene().answer = () => ({ status: 200, body: "<!doctype html>" });
  const place = scene().join();
  await settle();
  assert.ok(place.state.problem?.cause instanceof SyntaxError);
  assert.equal(scene().warnings.length, 1);
});

test("neither an answer of the API, nor a late one, nor one that is not needed is told in the console", async () => {
  scene().answer = () => ({ status: 503, body: { code: "recovering" } });
  scene().join();
  await scene().pass(10_000);
  const presence = new FakePresence();
  await scene().joinWith(nearEntry({ retry_after_ms: 20_000 }), { presence });
  scene().answer = () => new Promise(() => {});
  await scene().pass(23_000);
  presence.show(true);
  await scene().pass(30_000);
  assert.deepEqual(scene().warnings, []);
});

test("what was thrown is not posted to other tabs, which could not take it", async () => {
  FakeChannel.all.clear();
  Object.assign(globalThis, { BroadcastChannel: FakeChannel });
  Object.defineProperty(globalThis, "navigator", { value: { locks: new FakeLocks() }, configurable: true });
  try {
    const headers = () => Promise.reject(() => "a function");
    const storage = memoryStorage();
    const [leading, other] = [scene().join({ storage, headers, presence: new FakePresence() }), scene().join({ storage, presence: new FakePresence() })];
    await scene().pass(3_000);
    assert.deepEqual([leading, other].map(({ state }) => state.connection), ["retrying", "retrying"]);
  } finally {
    Reflect.deleteProperty(globalThis, "BroadcastChannel");
    Reflect.deleteProperty(globalThis, "navigator");
  }
});

test("a channel that the browser forbids leaves the client alone in its tab", async () => {
  class ForbiddenChannel {
    constructor() {
      throw new Error("SecurityError");
    }
  }
  Object.assign(globalThis, { BroadcastChannel: ForbiddenChannel });
  Object.defineProperty(globalThis, "navigator", { value: { locks: new FakeLocks() }, configurable: true });
  try {
    const place = await scene().joinWith(nearEntry());
    await scene().pass(1_000);
    assert.equal(place.state.status, "waiting");
  } finally {
    Reflect.deleteProperty(globalThis, "BroadcastChannel");
    Reflect.deleteProperty(globalThis, "navigator");
  }
});

test("an address without such a route fails, and is not retried", async () => {
  scene().answer = () => ({ status: 404, body: { code: "unknown-route", title: "The API has no such route" } });
  const place = scene().join();
  await scene().pass(60_000);
  const { problem, connection } = stateOf("failed", place);
  assert.deepEqual([problem.message, connection, scene().requests.length], ["The API has no such route", "online", 1]);
});

test("claim() before the turn blames neither the server nor the network", async () => {
  const place = await scene().joinWith(nearEntry({ retry_after_ms: 1_000 }));
  const refusal = { code: "not-your-turn", status: 0, message: "It is not your turn" };
  await assert.rejects(place.claim(), refusal);
  scene().answer = () => ({ status: 503, body: {} });
  await scene().pass(2_000);
  assert.equal(place.state.connection, "retrying");
  await assert.rejects(place.claim(), refusal);
});
