// The rules of the follower for the turn: claiming, being active, and the time that is left.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { EntryAnswer } from "../src/answers.js";
import { Follower } from "../src/follower.js";
import {
  activeEntry,
  assertNext,
  bareEntry,
  farEntry,
  joinAt,
  joinedFollower,
  nearEntry,
  noAnswer,
  receiveEntry,
  receiveFailure,
  refusal,
  stateWith,
  unavailable,
} from "./samples.js";

const readyEntry = (changes?: Partial<EntryAnswer>) =>
  nearEntry({ state: "ready", retry_after_ms: 1_000, claim_in_ms: 30_000, ...changes });

test("a visible page claims at once, and a hidden one polls", () => {
  const follower = joinedFollower();
  follower.attendance.changeVisibility(false, 5_000);
  receiveEntry(follower, readyEntry(), 5_000);
  assert.deepEqual(follower.nextRequest, { kind: "status", holdSeconds: 0, atMs: 6_000 });
  follower.attendance.changeVisibility(true, 5_500);
  assert.deepEqual(follower.nextRequest, { kind: "claim", atMs: 5_000 });
});

test("while the gateway refuses polls, the client claims in between", () => {
  const follower = joinedFollower(nearEntry());
  receiveFailure(follower, "status", refusal(429, "too-many-requests", 1_000), 5_000);
  assertNext(follower, "claim", 9_000);
  receiveFailure(follower, "claim", refusal(429, "too-many-requests", 1_000), 9_000);
  assertNext(follower, "status", 13_500);
  receiveFailure(follower, "status", refusal(429, "too-many-requests", 1_000), 13_500);
  assertNext(follower, "claim", 18_000);
  receiveFailure(follower, "claim", refusal(409, "not-your-turn"), 18_000);
  assertNext(follower, "status", 20_000);
});

test("a visitor who is away or far does not claim after a refused poll", () => {
  const away = joinedFollower(nearEntry());
  away.attendance.changeVisibility(false, 5_000);
  receiveFailure(away, "status", refusal(429, "too-many-requests"), 5_000);
  assert.equal(away.nextRequest.kind, "status");
  const far = joinedFollower(farEntry({ look_after_ms: 5_000 }));
  receiveFailure(far, "status", refusal(429, "too-many-requests"), 5_000);
  assert.notEqual(far.nextRequest.kind, "claim");
});

test("a claim that failed is repeated with backoff", () => {
  const follower = joinedFollower(readyEntry());
  assert.equal(receiveFailure(follower, "claim", noAnswer(), 100), true);
  assertNext(follower, "claim", 600);
});

test("after a refused claim the entry is asked first", () => {
  const follower = joinedFollower(readyEntry());
  assert.equal(receiveFailure(follower, "claim", refusal(409, "not-your-turn"), 100), false);
  assertNext(follower, "status", 2_100);
  assert.equal(receiveFailure(follower, "status", noAnswer(), 2_200), true);
  receiveEntry(follower, readyEntry(), 3_000);
  assertNext(follower, "claim", 3_000);
});

test("a claim that the server answers without effect is not repeated at once", () => {
  const follower = joinedFollower(readyEntry());
  assertNext(follower, "claim", 0);
  follower.receive({ kind: "claim", isOk: true, status: 200, body: { ...readyEntry() } }, 100);
  assertNext(follower, "claim", 2_100);
});

test("the time left counts down by the monotonic clock", () => {
  const follower = joinedFollower(readyEntry());
  assert.equal(stateWith("ready", follower, 0).endsAtMs, 30_000);
  receiveEntry(follower, activeEntry(), 29_000);
  assert.equal(stateWith("active", follower, 30_000).endsAtMs, 89_000);
  assert.ok(Number.isNaN(stateWith("ready", joinedFollower(bareEntry({ state: "ready" })), 0).endsAtMs));
});

test("an active visitor needs no document", () => {
  assertNext(joinedFollower(activeEntry()), "status", 90_000);
});

test("answers about the entry tell about the queue", () => {
  const follower = joinedFollower(nearEntry({ queue_state: "paused", message: "Back soon" }));
  const { queue } = follower.stateAt(0);
  assert.deepEqual([queue.state, queue.message], ["paused", "Back soon"]);
  receiveEntry(follower, nearEntry(), 1);
  assert.deepEqual([follower.stateAt(1).queue.state, follower.stateAt(1).queue.message], ["open", ""]);
});

test("leaving ends the visit", () => {
  for (const entry of [nearEntry(), activeEntry()]) {
    const follower = joinedFollower(entry);
    follower.receive({ kind: "leave", isOk: true, status: 204, body: {} }, 1_000);
    assert.equal(follower.stateAt(1_000).status, "left");
    assert.deepEqual([follower.entry?.pass, follower.token, follower.isOver], [undefined, "", true]);
  }
});

test("input of the last minute confirms a turn, and older input does not", () => {
  for (const [readyAtMs, isClaimed] of [
    [60_000, true],
    [60_001, false],
  ] as const) {
    const follower = joinedFollower(nearEntry());
    receiveEntry(follower, readyEntry(), readyAtMs);
    assert.equal(follower.nextRequest.kind, isClaimed ? "claim" : "status");
    assert.equal(stateWith("ready", follower, readyAtMs).needsInput, !isClaimed);
    follower.attendance.addInput(readyAtMs + 10);
    assertNext(follower, "claim", readyAtMs);
  }
});

test("to join and to show the page are no input", () => {
  const follower = new Follower(() => 0.5);
  follower.join({ token: "", lowest: follower.lowest }, 0);
  follower.attendance.changeVisibility(true, 0);
  receiveEntry(follower, readyEntry(), 100);
  assert.equal(stateWith("ready", follower, 100).needsInput, true);
  follower.attendance.changeVisibility(false, 200);
  follower.attendance.changeVisibility(true, 300);
  assert.equal(stateWith("ready", follower, 300).needsInput, true);
  assert.equal(follower.nextRequest.kind, "status");
});

test("a page that is shown within a minute of the last input confirms the turn", () => {
  for (const [shownAtMs, isClaimed] of [
    [60_000, true],
    [60_001, false],
  ] as const) {
    const follower = joinedFollower(nearEntry());
    follower.attendance.changeVisibility(false, 10_000);
    receiveEntry(follower, readyEntry(), 20_000);
    follower.attendance.changeVisibility(true, shownAtMs);
    assert.equal(follower.nextRequest.kind, isClaimed ? "claim" : "status");
  }
});

test("input of a hidden page confirms nothing", () => {
  const follower = joinedFollower(nearEntry());
  follower.attendance.changeVisibility(false, 5_000);
  receiveEntry(follower, readyEntry(), 5_000);
  follower.attendance.addInput(5_100);
  assert.equal(follower.nextRequest.kind, "status");
});

test("a page that is hidden before the claim was sent does not claim", () => {
  const follower = joinedFollower(readyEntry());
  receiveFailure(follower, "claim", noAnswer(), 100);
  follower.attendance.changeVisibility(false, 200);
  assert.equal(follower.nextRequest.kind, "status");
});

test("without automatic confirmation only the caller confirms", () => {
  const follower = new Follower(() => 0.5, false);
  joinAt(follower, 0);
  receiveEntry(follower, readyEntry(), 100);
  follower.attendance.addInput(200);
  assert.equal(follower.nextRequest.kind, "status");
  follower.attendance.isConfirmed = true;
  assertNext(follower, "claim", 100);
});

test("the confirmation of one turn does not confirm the next", () => {
  const follower = joinedFollower(nearEntry());
  follower.attendance.isConfirmed = true;
  receiveEntry(follower, readyEntry(), 100_000);
  assert.equal(follower.nextRequest.kind, "status");
});

test("waking asks at once, unless an answer has just come", () => {
  const near = joinedFollower(nearEntry());
  assert.equal(near.wake(1_999, false), false);
  assertNext(near, "status", 5_000);
  assert.equal(near.wake(2_000, false), true);
  assertNext(near, "status", 2_000);
  const far = joinedFollower(farEntry());
  assert.equal(far.wake(20_000, false), true);
  assertNext(far, "document", 20_000);
});

test("a network that is back ends a backoff, unless the server has answered", () => {
  const follower = joinedFollower(nearEntry());
  for (let n = 0; n < 4; n++) receiveFailure(follower, "status", noAnswer(), 5_000);
  assertNext(follower, "status", 9_500);
  assert.equal(follower.wake(5_200, true), true);
  assertNext(follower, "status", 5_700);
  receiveFailure(follower, "status", refusal(503, "unavailable", 30_000), 5_700);
  assert.equal(follower.wake(6_000, true), false, "Retry-After counts");
});

test("a visitor who comes back to the tab ends a backoff, at most every two seconds", () => {
  for (const entry of [nearEntry({ retry_after_ms: 30_000 }), farEntry({ retry_after_ms: 30_000 })]) {
    const follower = joinedFollower(entry);
    for (const kind of ["status", "document"] as const) receiveFailure(follower, kind, unavailable(2_592_000_000), 5_000);
    assert.equal(follower.wake(6_999, false), false);
    assert.equal(follower.wake(7_000, false), true);
    assert.equal(follower.nextRequest.atMs, 7_000);
  }
  const joining = new Follower(() => 0.5);
  joinAt(joining, 0);
  receiveFailure(joining, "enter", unavailable(2_592_000_000), 0);
  joining.wake(20_000, false);
  assertNext(joining, "enter", 20_000);
});
