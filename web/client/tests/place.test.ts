// The shell around the state machine: requests, states, and the functions of a place.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ProblemError } from "../src/problem.js";
import { memoryStorage } from "../src/storage.js";
import type { PlaceState } from "../src/types.js";
import { bareEntry, farEntry, nearEntry } from "./samples.js";
import { FakePresence, settle, stateOf, useScene } from "./scene.js";

const scene = useScene();
const ready = nearEntry({ state: "ready", claim_in_ms: 60_000, retry_after_ms: 1_000 });
const active = nearEntry({
  state: "active",
  pass: "p",
  expires_in_ms: 300_000,
  retry_after_ms: 60_000,
  target_url: "",
});

test("a request for the document has no headers and no credentials", async () => {
  await scene().joinWith(farEntry());
  assert.deepEqual(scene().paths, ["POST /queues/q/entries"]);
  assert.match(scene().requests[0]!.headers["X-Visitor-Id"]!, /^[0-9a-f-]{36}$/);
  await scene().pass(70_000);
  assert.deepEqual(scene().paths.slice(1), ["GET /queues/q"]);
  const { isBare, credentials, body } = scene().requests[1]!;
  assert.deepEqual({ isBare, credentials, body }, { isBare: true, credentials: "omit", body: undefined });
});

test("a stored place is asked, and its position is kept", async () => {
  const storage = memoryStorage();
  (await scene().joinWith(farEntry({ position: 70 }), { storage })).close();
  const place = await scene().joinWith(farEntry({ position: 90 }), { storage });
  assert.deepEqual(scene().paths.slice(1), ["GET /queues/q/entries/t?wait=0"]);
  assert.equal(stateOf("waiting", place).position, 70);
  const [first, second] = scene().requests;
  assert.equal(first!.headers["X-Visitor-Id"], second!.headers["X-Visitor-Id"]);
});

test("leaving names the visit, ends the place and forgets it", async () => {
  const storage = memoryStorage();
  const place = await scene().joinWith(farEntry(), { storage });
  scene().answer = () => ({ status: 204 });
  await place.leave();
  assert.equal(scene().paths.at(-1), "DELETE /queues/q/entries/t?visit=1");
  assert.equal(place.state.status, "left");
  await scene().pass(700_000, 10_000);
  assert.equal(scene().requests.length, 2, "no request follows");
  scene().join({ storage });
  await settle();
  assert.equal(scene().paths.at(-1), "POST /queues/q/entries");
});

test("a place that could not be left is kept", async () => {
  const place = await scene().joinWith(nearEntry());
  scene().answer = () => ({ status: 503, body: { code: "recovering" } });
  await assert.rejects(place.leave(), { code: "recovering" });
  assert.equal(place.state.status, "waiting");
  // The rejection of a promise that the caller ignores is handled.
  void place.leave();
  await settle();
  scene().answer = () => ({ status: 404, body: { code: "unknown-entry" } });
  await place.leave();
  assert.equal(place.state.status, "left", "a place that no longer exists is left");
});

test("joining retries an outage, and a closed queue tells why", async () => {
  scene().answer = () => ({ status: 503, body: { code: "recovering" }, headers: { "Retry-After": "2" } });
  const place = scene().join();
  await scene().pass(1_999);
  assert.equal(scene().requests.length, 1, "Retry-After is a floor");
  assert.deepEqual([place.state.status, place.state.connection], ["joining", "retrying"]);
  scene().answer = ({ path }) =>
    path.endsWith("/entries")
      ? { status: 409, body: { code: "queue-closed" } }
      : { body: { ...document, message: "We open at ten" } };
  const document = { generation: 1, epoch: 1, now_ms: 1, lanes: {}, estimated_waits: [], state: "closed" };
  await scene().pass(1_001);
  assert.equal(stateOf("failed", place).problem.code, "queue-closed");
  assert.equal(place.state.queue.message, "We open at ten");
});

test("an iteration shows the newest states and ends with the visit", async () => {
  const place = await scene().joinWith(nearEntry({ retry_after_ms: 1_000 }));
  const statuses: string[] = [];
  const iteration = (async () => {
    for await (const state of place) statuses.push(state.status);
  })();
  scene().answer = () => ({ body: ready });
  await scene().pass(1_000);
  scene().answer = () => ({ status: 410, body: { code: "evicted", state: "evicted" } });
  await scene().pass(2_000);
  await iteration;
  assert.deepEqual([statuses[0], statuses.at(-1)], ["waiting", "evicted"]);
  for await (const state of place) assert.equal(state.status, "evicted");
});

test("a slow iteration skips states", async () => {
  const place = await scene().joinWith(bareEntry({ position: 9, retry_after_ms: 1_000 }));
  const iterator = place[Symbol.asyncIterator]();
  await iterator.next();
  for (const position of [8, 7, 6]) {
    scene().answer = () => ({ body: bareEntry({ position, retry_after_ms: 1_000 }) });
    await scene().pass(1_000);
  }
  const { value } = await iterator.next();
  assert.equal((value as PlaceState & { position: number }).position, 6);
});

test("a state is immutable, and each change gives a new one", async () => {
  const place = await scene().joinWith(nearEntry({ retry_after_ms: 1_000 }));
  const before = place.state;
  const seen: PlaceState[] = [];
  const end = place.subscribe((state) => seen.push(state));
  assert.ok(Object.isFrozen(before) && Object.isFrozen(before.queue));
  await scene().pass(1_000);
  assert.notEqual(place.state, before);
  assert.deepEqual(seen, [place.state]);
  end();
  await scene().pass(1_000);
  assert.equal(seen.length, 1);
});

test("a listener that throws stops neither the others nor the client", async () => {
  const errors: unknown[] = [];
  const { setTimeout } = globalThis;
  const catchingTimeout = (task: () => void, ms?: number) =>
    setTimeout(() => {
      try {
        task();
      } catch (error) {
        errors.push(error);
      }
    }, ms);
  globalThis.setTimeout = catchingTimeout as typeof setTimeout;
  const place = await scene().joinWith(nearEntry({ retry_after_ms: 1_000 }));
  const failure = new Error("from a listener");
  let calls = 0;
  place.subscribe(() => {
    throw failure;
  });
  place.subscribe(() => calls++);
  await scene().pass(2_500);
  globalThis.setTimeout = setTimeout;
  assert.ok(calls >= 2);
  assert.equal(errors[0], failure, "the error is reported");
});

test("a visitor who is there is let in at once", async () => {
  const place = await scene().joinWith(nearEntry({ retry_after_ms: 1_000 }));
  scene().answer = ({ method }) => ({ body: method === "POST" ? active : ready });
  await scene().pass(1_000);
  const state = stateOf("active", place);
  assert.deepEqual([state.pass, state.endsAtMs], ["p", scene().nowMs + 300_000]);
});

test("claim() claims, and repeats it through an outage", async () => {
  const place = await scene().joinWith(ready, { confirm: "manual" });
  assert.equal(stateOf("ready", place).needsInput, true);
  await scene().pass(5_000);
  assert.ok(scene().paths.every((path) => !path.includes("claim")));
  let failures = 3;
  scene().answer = ({ method }) =>
    method === "POST" && failures-- > 0 ? { status: 500 } : { body: method === "POST" ? active : ready };
  const claimed = place.claim();
  assert.equal(stateOf("ready", place).needsInput, true);
  await scene().pass(20_000);
  assert.equal((await claimed).pass, "p");
  assert.equal((await place.claim()).pass, "p", "it is idempotent");
});

test("claim() rejects before the turn, and if the turn is lost", async () => {
  const place = await scene().joinWith(nearEntry({ retry_after_ms: 1_000 }), { confirm: "manual" });
  await assert.rejects(place.claim(), { code: "not-your-turn" });
  scene().answer = () => ({ body: ready });
  await scene().pass(1_000);
  scene().answer = ({ method }) =>
    method === "POST"
      ? { status: 410, body: { code: "expired", state: "expired", grace_in_ms: 9_000 } }
      : { body: ready };
  const claimed = place.claim();
  const rejected = assert.rejects(claimed, ProblemError);
  await scene().pass(1_000);
  await rejected;
  const state = stateOf("expired", place);
  assert.equal(state.isMissedTurn, true);
  assert.ok(state.endsAtMs > scene().nowMs);
});

test("a wait that lasted too long has a reason", async () => {
  const place = await scene().joinWith(nearEntry({ retry_after_ms: 1_000 }));
  const body = { code: "expired", state: "expired", reason: "overlong-wait" };
  scene().answer = () => ({ status: 410, body });
  await scene().pass(1_000);
  const state = stateOf("expired", place);
  assert.equal(state.reason, "overlong-wait");
});

test("closing while a claim is in flight changes nothing afterwards", async () => {
  const place = await scene().joinWith(ready, { confirm: "manual" });
  let respond = () => {};
  scene().answer = () => new Promise((done) => (respond = () => done({ body: active })));
  const rejected = assert.rejects(place.claim(), ProblemError);
  await settle();
  place.close();
  const { state } = place;
  assert.equal(state.status, "closed");
  respond();
  await rejected;
  await scene().pass(100_000, 10_000);
  assert.equal(place.state, state);
});

test("an answer after close() is ignored, and the place stays stored", async () => {
  const storage = memoryStorage();
  (await scene().joinWith(nearEntry(), { storage })).close();
  let respond = () => {};
  scene().answer = () => new Promise((done) => (respond = () => done({ body: bareEntry() })));
  const place = scene().join({ storage });
  await settle();
  place.close();
  place.close();
  respond();
  await settle();
  assert.equal(place.state.status, "closed");
  scene().join({ storage });
  await settle();
  assert.equal(scene().paths.at(-1), "GET /queues/q/entries/t?wait=0");
});

test("a signal closes the place, before joining and later", async () => {
  const place = scene().join({ signal: AbortSignal.abort() });
  await scene().pass(10_000);
  assert.deepEqual([place.state.status, scene().requests.length], ["closed", 0]);
  for (const ms of [0, 500, 3_000]) {
    const controller = new AbortController();
    const presence = new FakePresence();
    const other = await scene().joinWith(nearEntry(), { signal: controller.signal, presence });
    await scene().pass(ms);
    controller.abort();
    assert.deepEqual([other.state.status, presence.listeners], ["closed", 0]);
    const count = scene().requests.length;
    await scene().pass(30_000, 1_000);
    assert.equal(scene().requests.length, count);
  }
});

test("closing in the first moment sends nothing", async () => {
  const place = scene().join();
  place.close();
  await scene().pass(10_000);
  assert.deepEqual([place.state.status, scene().requests.length], ["closed", 0]);
});

test("extending sends the seconds and the visit", async () => {
  const place = await scene().joinWith(active);
  scene().answer = () => ({ body: { ...active, expires_in_ms: 900_000 } });
  await place.extend(600);
  assert.equal(scene().paths.at(-1), "POST /queues/q/entries/t/extend");
  assert.equal(scene().requests.at(-1)!.body, '{"visit":1,"seconds":600}');
  assert.equal(stateOf("active", place).endsAtMs, scene().nowMs + 900_000);
  scene().answer = () => ({ status: 403, body: { code: "service-only" } });
  await assert.rejects(place.extend(), { code: "service-only" });
  scene().answer = () => ({ status: 204 });
  await assert.rejects(place.extend(), { status: 204 });
  assert.equal(place.state.status, "active");
});

test("leaving before the first answer ends the place", async () => {
  scene().answer = () => new Promise(() => {});
  const place = scene().join();
  await settle();
  await place.leave();
  assert.equal(place.state.status, "left");
});
