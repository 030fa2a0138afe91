// What only the shipped client shows, such as the operator's words and the time that is left. The rules by which it sends its
// requests are in cases.json.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { EntryAnswer } from "../src/answers.js";
import { Follower } from "../src/follower.js";
import {
  activeEntry,
  bareEntry,
  farEntry,
  joinAt,
  joinedFollower,
  nearEntry,
  noAnswer,
  publicDocument,
  readyEntry,
  receiveDocument,
  receiveEntry,
  receiveFailure,
  refusal,
  stateWith,
  waiting,
} from "./samples.js";

test("answers and newer documents tell about the queue", () => {
  const follower = joinedFollower(nearEntry({ queue_state: "paused", message: "Back soon" }));
  const told = () => [follower.stateAt(0).queue.state, follower.stateAt(0).queue.message];
  assert.deepEqual(told(), ["paused", "Back soon"]);
  receiveEntry(follower, nearEntry(), 1);
  assert.deepEqual(told(), ["open", ""]);
  receiveDocument(follower, publicDocument({ state: "paused", message: "Soon", now_ms: 5_000 }), 2);
  receiveDocument(follower, publicDocument({ message: "old", now_ms: 4_999 }), 3);
  assert.deepEqual(told(), ["paused", "Soon"]);
});

test("a document tells when the queue opens, by the visitor's clock", () => {
  const follower = new Follower(() => 0.5, true, "", true);
  joinAt(follower, 0);
  receiveDocument(follower, publicDocument({ state: "scheduled", opens_at_ms: 121_000 }), 3_000);
  assert.deepEqual([follower.stateAt(3_000).queue.state, follower.stateAt(3_000).queue.opensAtMs], ["scheduled", 123_000]);
  receiveDocument(follower, publicDocument({ now_ms: 200_000 }), 202_000);
  assert.ok(Number.isNaN(follower.stateAt(202_000).queue.opensAtMs));
});

test("behind is the rest of the line", () => {
  const near = joinedFollower(nearEntry({ position: 1, ahead: 40, waiting: 74 }));
  assert.equal(waiting(near, 0).behind, 33);
  const without = joinedFollower(nearEntry({ position: 1, ahead: 40 }));
  assert.equal(waiting(without, 0).behind, null, "the answer does not say how many wait");
  const follower = joinedFollower(farEntry({ position: 1_000, ahead: 1_040, waiting: 2_000 }));
  receiveDocument(follower, publicDocument({ waiting: 1_990 }, { gone_ahead: 1_010 }), 1_000);
  assert.deepEqual([waiting(follower, 1_000).ahead, waiting(follower, 1_000).behind], [989, 1_000]);
});

test("the problem of a failure is shown until an answer comes", () => {
  const follower = joinedFollower();
  const problemCode = () => follower.stateAt(0).problem?.code;
  for (const [failure, code] of [
    [noAnswer(), "network"],
    [{ status: 403, body: {} }, "no-problem"],
    [refusal(503, "recovering"), "recovering"],
  ] as const) {
    assert.equal(receiveFailure(follower, "status", failure, 1), true);
    assert.equal(problemCode(), code);
    receiveEntry(follower, readyEntry(), 2);
    assert.equal(problemCode(), undefined);
  }
  assert.equal(receiveFailure(follower, "claim", refusal(409, "not-your-turn"), 3), false);
  assert.equal(receiveFailure(follower, "status", refusal(404, "unknown-entry"), 4), true);
  assert.deepEqual([problemCode(), follower.entry, follower.token], ["unknown-entry", null, ""]);
});

test("the time left counts down by the monotonic clock", () => {
  const follower = joinedFollower(readyEntry());
  assert.equal(stateWith("ready", follower, 0).endsAtMs, 30_000);
  receiveEntry(follower, activeEntry(), 29_000);
  assert.equal(stateWith("active", follower, 30_000).endsAtMs, 89_000);
  receiveFailure(follower, "status", refusal(410, "expired", undefined, { state: "expired", grace_in_ms: 600 }), 31_000);
  assert.deepEqual([stateWith("expired", follower, 31_400).endsAtMs, follower.token], [31_600, ""]);
  assert.ok(Number.isNaN(stateWith("ready", joinedFollower(bareEntry({ state: "ready" })), 0).endsAtMs));
});

test("leaving ends the visit", () => {
  for (const entry of [nearEntry(), activeEntry()] satisfies EntryAnswer[]) {
    const follower = joinedFollower(entry);
    follower.receive({ kind: "leave", isOk: true, status: 204, body: {} }, 1_000);
    assert.equal(follower.stateAt(1_000).status, "left");
    assert.deepEqual([follower.entry?.pass, follower.token, follower.isOver], [undefined, "", true]);
  }
});
