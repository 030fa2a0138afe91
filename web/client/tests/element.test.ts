// What the element says, and that a program may import it where there are no elements.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { PlaceState } from "../src/types.js";
import { countdownText, headlineText, hintText, waitText } from "../src/texts.js";
import { joinedFollower, nearEntry, noAnswer, receiveEntry, receiveFailure, refusal } from "./samples.js";

const stateOf = (entry = nearEntry()): PlaceState => joinedFollower(entry).stateAt(0);

test("the element can be imported without a browser", async () => {
  const { VestibuleLine } = await import("../src/element.js");
  assert.equal(typeof VestibuleLine, "function");
});

test("a wait is told in the unit that fits", () => {
  assert.equal(waitText(null), "");
  assert.equal(waitText({ low: 5, high: 9 }), "5 to 9 seconds");
  assert.equal(waitText({ low: 120, high: 120 }), "about 2 minutes");
  assert.equal(waitText({ low: 100, high: 290 }), "1 to 5 minutes");
  assert.equal(waitText({ low: 3_600, high: 9_000 }), "1 to 3 hours");
});

test("a countdown has minutes and seconds", () => {
  assert.deepEqual([61_000, 900, -5, Number.NaN].map(countdownText), ["1:01", "0:01", "0:00", ""]);
});

test("a headline says what happened", () => {
  assert.equal(headlineText(stateOf()), "You are in line");
  const missed = joinedFollower(nearEntry({ state: "ready" }));
  receiveFailure(missed, "status", refusal(410, "expired", undefined, { state: "expired" }), 1);
  assert.equal(headlineText(missed.stateAt(1)), "You missed your turn");
  const tooLong = joinedFollower(nearEntry());
  receiveFailure(tooLong, "status", refusal(410, "expired", undefined, { state: "expired", reason: "overlong-wait" }), 1);
  assert.equal(headlineText(tooLong.stateAt(1)), "Your wait has ended");
  const ended = joinedFollower(nearEntry({ state: "active", expires_at_ms: 9 }));
  receiveFailure(ended, "status", refusal(410, "expired", undefined, { state: "expired" }), 1);
  assert.equal(headlineText(ended.stateAt(1)), "Your session has ended");
});

test("a hint tells of the network, the line and a refusal", () => {
  assert.match(hintText(stateOf()), /Keep this page open/);
  assert.match(hintText(stateOf(nearEntry({ estimated_wait_seconds: undefined }))), /stands still/);
  const follower = joinedFollower(nearEntry());
  receiveFailure(follower, "status", noAnswer(), 1);
  assert.match(hintText(follower.stateAt(1)), /Trying again/);
  follower.isOffline = true;
  assert.match(hintText(follower.stateAt(1)), /offline/);
  follower.isOffline = false;
  receiveEntry(follower, nearEntry(), 2);
  receiveFailure(
    follower,
    "status",
    refusal(404, "unknown-entry", undefined, { title: "The entry does not exist" }),
    3,
  );
  assert.equal(hintText(follower.stateAt(3)), "The entry does not exist.");
});
