// Numbers from the network that are none, or out of their bounds: the client neither falls silent nor asks without a pause.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { EntryAnswer, PublicDocument } from "../src/answers.js";
import { within } from "../src/bounds.js";
import { Follower } from "../src/follower.js";
import { activeEntry, bareEntry, farEntry, joinAt, joinedFollower, publicDocument, receiveDocument } from "./samples.js";
import { FakePresence, settle, useScene } from "./scene.js";

const scene = useScene();
const MONTH_SECONDS = 2_592_000;
const TEN_MINUTES_MS = 600_000;
// What JSON can have in the place of a number. 1e999 is read as Infinity.
const BROKEN = ["1e999", "-1e999", "1e300", "-5", "0", "null", '"soon"', '"9"', "[]", "{}", "true"].map((text) => JSON.parse(text) as number);

const pauseMs = (follower: Follower, nowMs: number) => follower.nextRequest.atMs - nowMs;

function assertPause(follower: Follower, nowMs: number, what: string) {
  const ms = pauseMs(follower, nowMs);
  assert.ok(ms >= 200 && ms <= TEN_MINUTES_MS, `${what}: ${ms} ms`);
}

test("a number is within its bounds, and anything else is none", () => {
  assert.deepEqual([-1, 3, 9].map((value) => within(value, 5, 4, 1)), [1, 3, 4]);
  assert.deepEqual([undefined, null, "3", Number.NaN, Infinity, [], {}].map((value) => within(value, 5, 4, 1)), Array(7).fill(5));
});

test("no interval of an answer about the entry silences a client, or lets it ask without a pause", () => {
  for (const value of BROKEN) {
    for (const state of ["waiting", "active"] as const) {
      assertPause(joinedFollower(bareEntry({ state, retry_after_ms: value })), 0, `${state}, retry_after_ms ${value}`);
    }
    assertPause(joinedFollower(farEntry({ look_after_ms: value })), 0, `look_after_ms ${value}`);
    const wait = { low: value, high: value };
    assertPause(joinedFollower(farEntry({ estimated_wait_seconds: wait })), 0, `estimated_wait_seconds ${value}`);
  }
});

test("no interval of a document silences a client, or lets it ask without a pause", () => {
  const names = ["refresh_near_ms", "refresh_far_ms", "resync_ms", "now_ms", "rate", "opens_at_ms"] satisfies (keyof PublicDocument)[];
  for (const value of BROKEN) {
    for (const name of names) {
      for (const epoch of [1, 2]) {
        const follower = joinedFollower(farEntry());
        receiveDocument(follower, publicDocument(), 1_000);
        receiveDocument(follower, publicDocument({ now_ms: 2_000, epoch, [name]: value }), 2_000);
        // All entries of a queue that was restored may ask at once if the server says so.
        if (name !== "resync_ms" || epoch === 1) assertPause(follower, 2_000, `${name} ${value}, epoch ${epoch}`);
        assert.ok(pauseMs(follower, 2_000) >= 0);
      }
    }
    const waits = [{ position: 1_000, low: value, high: value }];
    const follower = joinedFollower(farEntry());
    receiveDocument(follower, publicDocument({ estimated_waits: waits }), 2_000);
    assertPause(follower, 2_000, `estimated_waits ${value}`);
  }
});

test("no spread before a draw is longer than ten minutes", () => {
  for (const value of BROKEN) {
    const follower = new Follower(() => 0.999, true, "", true);
    joinAt(follower, 0);
    receiveDocument(follower, publicDocument({ enter_spread_ms: value }), 0);
    assert.equal(follower.nextRequest.kind, "enter");
    assert.ok(pauseMs(follower, 0) >= 0 && pauseMs(follower, 0) <= TEN_MINUTES_MS, `${value}: ${pauseMs(follower, 0)} ms`);
  }
});

test("a time that is none is not known", () => {
  for (const value of BROKEN) {
    const entry = activeEntry({ expires_in_ms: value });
    const { endsAtMs } = joinedFollower(entry).stateAt(0) as unknown as EntryAnswer & { endsAtMs: number };
    assert.ok(Number.isNaN(endsAtMs) || (endsAtMs >= 0 && endsAtMs < 2 ** 31), `expires_in_ms ${value}: ${endsAtMs}`);
    const follower = joinedFollower(farEntry());
    receiveDocument(follower, publicDocument({ opens_at_ms: value, closes_at_ms: value }), 0);
    const { opensAtMs, closesAtMs } = follower.stateAt(0).queue;
    for (const atMs of [opensAtMs, closesAtMs]) assert.equal(typeof atMs, "number", `${value}`);
  }
});

test("a visitor who comes back to the tab asks at once, whatever Retry-After says", async () => {
  scene().answer = () => ({ status: 503, headers: { "Retry-After": String(MONTH_SECONDS) } });
  const presence = new FakePresence();
  scene().join({ presence });
  await scene().pass(60_000, 1_000);
  assert.equal(scene().requests.length, 1);
  presence.show(false);
  presence.show(true);
  await settle();
  assert.equal(scene().requests.length, 2);
});

test("no timer is above 2^31 ms, which a browser runs at once", async () => {
  const { setTimeout } = globalThis;
  const timers: number[] = [];
  globalThis.setTimeout = ((task: () => void, ms = 0) => (timers.push(ms), setTimeout(task, ms))) as typeof setTimeout;
  try {
    for (const value of [1e300, 2 ** 31, 3e12]) {
      const place = await scene().joinWith(farEntry({ look_after_ms: value, retry_after_ms: value }), {}, publicDocument({ refresh_far_ms: value, refresh_near_ms: value }));
      await scene().pass(70_000, 1_000);
      place.close();
    }
  } finally {
    globalThis.setTimeout = setTimeout;
  }
  assert.ok(timers.length > 0 && timers.every((ms) => ms < 2 ** 31), `${timers}`);
});
