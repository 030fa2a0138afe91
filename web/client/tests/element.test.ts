// What the element says, and that a program may import it where there are no elements.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ENGLISH } from "virtual:sentences";
import { Format } from "../src/format.js";
import type { PlaceState } from "../src/types.js";
import { countdownText, headlineText, hintText, waitText } from "../src/texts.js";
import { Words } from "../src/words.js";
import { joinedFollower, nearEntry, noAnswer, receiveEntry, receiveFailure, refusal } from "./samples.js";

const words = new Words(ENGLISH);
const format = new Format("en-US");
const stateOf = (entry = nearEntry()): PlaceState => joinedFollower(entry).stateAt(0);
const headline = (state: PlaceState) => headlineText(words, state);
const hint = (state: PlaceState) => hintText(words, state);

test("the element can be imported without a browser", async () => {
  const { VestibuleLine } = await import("../src/element.js");
  assert.equal(typeof VestibuleLine, "function");
});

test("the element says the wait, or why it is not known", () => {
  const wait = (changes: object) => waitText(words, format, { ...stateOf(), ...changes } as PlaceState);
  assert.equal(wait({ estimatedWaitSeconds: { low: 100, high: 290 } }), "About 2–5 minutes");
  assert.equal(wait({ estimatedWaitSeconds: null }), "The wait isn’t known yet");
  assert.equal(wait({ queue: { ...stateOf().queue, state: "paused" } }), "The line is paused");
  assert.equal(waitText(words, format, stateOf(nearEntry({ state: "ready" }))), "");
});

test("a countdown that is not known has no text", () => {
  assert.deepEqual([61_000, -5, Number.NaN].map((ms) => countdownText(format, ms)), ["1:01", "0:00", ""]);
});

test("a headline says what happened", () => {
  assert.equal(headline(stateOf()), "You’re in line");
  const missed = joinedFollower(nearEntry({ state: "ready" }));
  receiveFailure(missed, "status", refusal(410, "expired", undefined, { state: "expired" }), 1);
  assert.equal(headline(missed.stateAt(1)), "Your turn has passed");
  const tooLong = joinedFollower(nearEntry());
  receiveFailure(tooLong, "status", refusal(410, "expired", undefined, { state: "expired", reason: "overlong-wait" }), 1);
  assert.equal(headline(tooLong.stateAt(1)), "Your wait has ended");
  const ended = joinedFollower(nearEntry({ state: "active", expires_at_ms: 9 }));
  receiveFailure(ended, "status", refusal(410, "expired", undefined, { state: "expired" }), 1);
  assert.equal(headline(ended.stateAt(1)), "Your session has ended");
});

test("every status of a place has a headline", () => {
  const statuses: PlaceState["status"][] = ["joining", "waiting", "ready", "active", "completed", "left", "evicted", "finished", "expired", "failed", "closed"];
  for (const status of statuses) assert.notEqual(headline({ ...stateOf(), status } as PlaceState), "", status);
});

test("a hint tells of the network and a refusal", () => {
  assert.match(hint(stateOf()), /your place is kept/);
  assert.match(hint({ ...stateOf(), isUnstored: true }), /Keep this tab open/);
  const follower = joinedFollower(nearEntry());
  receiveFailure(follower, "status", noAnswer(), 1);
  assert.match(hint(follower.stateAt(1)), /Trying again/);
  follower.isOffline = true;
  assert.match(hint(follower.stateAt(1)), /offline/);
  follower.isOffline = false;
  receiveEntry(follower, nearEntry(), 2);
  receiveFailure(follower, "status", refusal(404, "unknown-entry"), 3);
  assert.match(hint(follower.stateAt(3)), /restarted the line/);
  const refused = (code: string) => hint({ ...stateOf(), status: "failed", problem: { code } } as unknown as PlaceState);
  assert.match(refused("ticket-required"), /link from the shop/);
  assert.match(refused("constructor"), /can’t take you in/);
});
