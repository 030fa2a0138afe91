// Whether the visitor attends to the page, so that the client claims the turn.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Follower } from "../src/follower.js";
import {
  assertNext,
  joinAt,
  joinedFollower,
  nearEntry,
  noAnswer,
  readyEntry,
  receiveEntry,
  receiveFailure,
  refusal,
  stateWith,
} from "./samples.js";

test("a visible page claims at once, and a hidden one polls", () => {
  const follower = joinedFollower();
  follower.attendance.changeVisibility(false, 5_000);
  receiveEntry(follower, readyEntry(), 5_000);
  assert.deepEqual(follower.nextRequest, { kind: "status", holdSeconds: 0, atMs: 6_000 });
  follower.attendance.changeVisibility(true, 5_500);
  assert.deepEqual(follower.nextRequest, { kind: "claim", atMs: 5_000 });
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

test("older input confirms no claim after a refused poll", () => {
  for (const [refusedAtMs, kind] of [
    [60_000, "claim"],
    [60_001, "status"],
  ] as const) {
    const follower = joinedFollower(nearEntry());
    receiveFailure(follower, "status", refusal(429, "too-many-requests"), refusedAtMs);
    assert.equal(follower.nextRequest.kind, kind);
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
