// Answers that are missing, late or not from the API, and how the client waits for them.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { QueueOptions } from "../src/types.js";
import { farEntry, nearEntry } from "./samples.js";
import { FakePresence, settle, stateOf, useScene, type FakeAnswer } from "./scene.js";

const scene = useScene();
const ready = nearEntry({ state: "ready", claim_in_ms: 60_000 });
const active = nearEntry({ state: "active", pass: "p", retry_after_ms: 60_000, target_url: "" });
const HTML = "<!doctype html><title>Sign in</title>";

const foreignAnswers: [string, FakeAnswer][] = [
  ["a 403 page", { status: 403, body: HTML }],
  ["a 200 page", { status: 200, body: HTML }],
  ["a 200 of other JSON", { status: 200, body: { ok: true } }],
  ["a 200 with a token of its own", { status: 200, body: { token: "of a login page" } }],
  ["a 200 of null", { status: 200, body: "null" }],
  ["a 401 without a code", { status: 401, body: { error: "login" } }],
  ["a 404 with a code of a gateway", { status: 404, body: { code: "unknown-route" } }],
  ["a 204", { status: 204 }],
];

for (const [name, foreign] of foreignAnswers) {
  test(`${name} while waiting costs no turn`, async () => {
    const place = await scene().joinWith(nearEntry({ retry_after_ms: 1_000 }));
    scene().answer = () => foreign;
    await scene().pass(60_000);
    const { status, connection, problem } = place.state;
    assert.deepEqual([status, connection], ["waiting", "retrying"]);
    assert.ok(problem);
    assert.ok(scene().requests.length > 5 && scene().requests.length < 80, `${scene().requests.length}`);
    scene().answer = ({ method }) => ({ body: method === "POST" ? active : ready });
    await scene().pass(12_000);
    assert.deepEqual([place.state.status, place.state.connection], ["active", "online"]);
  });
}

test("a foreign answer instead of the document costs no turn", async () => {
  for (const [, foreign] of foreignAnswers) {
    const place = await scene().joinWith(farEntry({ look_after_ms: 120_000 }));
    scene().answer = ({ path }) => (path.includes("/entries") ? { body: ready } : foreign);
    await scene().pass(130_000, 1_000);
    assert.equal(place.state.status, "ready");
    place.close();
  }
});

test("a request that is never answered times out and is repeated", async () => {
  scene().answer = () => new Promise(() => {});
  const place = scene().join();
  await scene().pass(9_999);
  assert.equal(scene().requests.length, 1);
  await scene().pass(1_001);
  assert.equal(scene().requests.length, 2);
  assert.equal(scene().requests[0]!.signal!.aborted, true);
  assert.equal(place.state.problem?.code, "network");
});

test("a held poll may take its hold longer", async () => {
  await scene().joinWith(nearEntry({ retry_after_ms: 1_000 }));
  scene().answer = () => new Promise(() => {});
  await scene().pass(1_000 + 14_750);
  assert.equal(scene().requests.length, 2);
  await scene().pass(2_000);
  assert.equal(scene().requests.length, 3);
});

test("a body that never ends times out", async () => {
  const fetch = async () => ({ ok: true, status: 200, headers: new Headers(), json: () => new Promise(() => {}) });
  const place = scene().join({ fetch: fetch as unknown as NonNullable<QueueOptions["fetch"]> });
  await settle();
  await scene().pass(10_001);
  assert.equal(place.state.connection, "retrying");
});

test("a login header is sent with each request about the entry", async () => {
  let token = 0;
  const headers = async () => ({ Authorization: `Bearer ${++token}` });
  const place = await scene().joinWith(farEntry(), { headers });
  await scene().pass(70_000, 1_000);
  await place.leave().catch(() => {});
  const sent = scene().requests.map((request) => request.headers["Authorization"]);
  assert.deepEqual(sent, ["Bearer 1", undefined, "Bearer 2"]);
});

test("headers that reject, throw or never come are asked for again", async () => {
  const failures: NonNullable<QueueOptions["headers"]>[] = [
    () => Promise.reject(new Error("no login")),
    () => {
      throw new Error("no login");
    },
    () => new Promise(() => {}),
  ];
  for (const failure of failures) {
    let isFailing = true;
    const place = scene().join({ headers: (isOther) => (isFailing ? failure(isOther) : {}) });
    await scene().pass(15_000);
    assert.deepEqual([place.state.status, place.state.connection], ["joining", "retrying"]);
    isFailing = false;
    scene().answer = () => ({ body: nearEntry() });
    await scene().pass(25_000);
    assert.equal(place.state.status, "waiting");
    place.close();
    scene().requests = [];
  }
});

test("a 503 of a minute brings backoff, and no request too many", async () => {
  const place = await scene().joinWith(nearEntry({ retry_after_ms: 2_000 }));
  await scene().pass(60_000);
  const before = scene().requests.length;
  scene().answer = () => ({ status: 503, body: { code: "recovering" }, headers: { "Retry-After": "2" } });
  await scene().pass(60_000);
  const during = scene().requests.length - before;
  assert.ok(during <= 1.5 * before && during > 5, `${before} and ${during}`);
  assert.equal(place.state.status, "waiting");
});

test("Retry-After with a date is ignored", async () => {
  scene().answer = () => ({ status: 503, headers: { "Retry-After": "Wed, 21 Oct 2037 07:28:00 GMT" } });
  const place = scene().join();
  await settle();
  assert.equal(place.state.problem?.retryAfterMs, undefined);
});

test("the visitor's clock and the header Date do not count", async () => {
  const { now } = Date;
  Date.now = () => assert.fail("the client asks for the visitor's clock");
  try {
    const place = await scene().joinWith(ready, { confirm: "manual" });
    assert.equal(stateOf("ready", place).endsAtMs, scene().nowMs + 60_000);
    await scene().pass(5_000);
  } finally {
    Date.now = now;
  }
});

test("the state tells at once that the device is offline", async () => {
  const presence = new FakePresence();
  const place = await scene().joinWith(nearEntry({ retry_after_ms: 20_000 }), { presence });
  presence.connect(false);
  assert.equal(place.state.connection, "offline");
  scene().answer = () => Promise.reject(new TypeError("failed to fetch"));
  await scene().pass(40_000);
  assert.equal(place.state.connection, "offline");
  scene().answer = () => ({ body: ready });
  presence.connect(true);
  assert.notEqual(place.state.connection, "offline");
  await scene().pass(1_000);
  assert.equal(place.state.status, "ready", "the client asks within a second");
});

test("a page that was offline from the start says so", async () => {
  const presence = new FakePresence();
  presence.connect(false);
  scene().answer = () => Promise.reject(new TypeError("failed to fetch"));
  const place = scene().join({ presence });
  await settle();
  assert.equal(place.state.connection, "offline");
  scene().answer = () => ({ body: nearEntry() });
  presence.connect(true);
  await scene().pass(1_000);
  assert.equal(place.state.connection, "online");
});

test("a page that is shown again asks at once, and drops a poll that is in flight", async () => {
  const presence = new FakePresence();
  const place = await scene().joinWith(nearEntry({ retry_after_ms: 20_000 }), { presence });
  presence.show(false);
  // Neither the timers nor the monotonic clock of a phone that sleeps run, but a short time may have passed.
  await scene().pass(3_000);
  presence.show(true);
  await settle();
  assert.equal(scene().requests.length, 2);
  scene().answer = () => new Promise(() => {});
  await scene().pass(23_000);
  assert.equal(scene().requests.length, 3);
  presence.show(true);
  await settle();
  assert.equal(scene().requests[2]!.signal!.aborted, true);
  assert.equal(scene().requests.length, 4);
  assert.equal(place.state.problem, null, "a dropped poll is no failure");
  place.close();
});

test("a page that is shown and hidden often asks at most every two seconds", async () => {
  const presence = new FakePresence();
  await scene().joinWith(nearEntry({ retry_after_ms: 20_000 }), { presence });
  for (let n = 0; n < 40; n++) {
    presence.show(n % 2 === 1);
    await scene().pass(250);
  }
  assert.ok(scene().requests.length <= 6, `${scene().requests.length}`);
});
