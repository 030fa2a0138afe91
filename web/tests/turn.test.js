// The rules of the follower for the turn: claiming, being active, and the time that is left.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ProblemError } from "../problem.js";
import { assertNext, joinedFollower, nearEntry, noAnswer, olderEntry, publicDocument } from "./samples.js";

const readyEntry = (changes) => nearEntry({ state: "ready", retry_after_ms: 1_000, claim_in_ms: 30_000, ...changes });

function activeEntry(changes) {
  return nearEntry({ state: "active", pass: "p", retry_after_ms: 90_000, expires_in_ms: 60_000, ...changes });
}

test("a visible page claims at once, and a hidden one polls", () => {
  const follower = joinedFollower();
  follower.changeVisibility(false);
  follower.receiveEntry(readyEntry(), 5_000);
  assert.deepEqual(follower.nextRequest, { kind: "status", token: "t", holdSeconds: 0, atMs: 6_000 });
  follower.changeVisibility(true);
  assert.deepEqual(follower.nextRequest, { kind: "claim", token: "t", atMs: 5_000 });
});

test("a claim that failed is repeated with backoff", () => {
  const follower = joinedFollower(readyEntry());
  assert.equal(follower.receiveFailure("claim", noAnswer(), 100), true);
  assertNext(follower, "claim", 600);
});

test("after a refused claim the entry is asked first", () => {
  const follower = joinedFollower(readyEntry());
  assert.equal(follower.receiveFailure("claim", new ProblemError({ status: 409, code: "not-your-turn" }), 100), false);
  assertNext(follower, "status", 2_100);
  assert.equal(follower.receiveFailure("status", noAnswer(), 2_200), true);
  follower.receiveEntry(readyEntry(), 3_000);
  assertNext(follower, "claim", 3_000);
});

test("the time left counts down by the monotonic clock", () => {
  const follower = joinedFollower(readyEntry());
  assert.deepEqual([follower.viewAt(0).leftMs, follower.viewAt(29_000).leftMs], [30_000, 1_000]);
  follower.receiveEntry(activeEntry(), 29_000);
  assert.deepEqual([follower.viewAt(30_000).leftMs, follower.viewAt(99_000).leftMs], [59_000, 0]);
  assert.equal(joinedFollower(olderEntry({ state: "ready", claim_by_ms: 9 })).viewAt(0).leftMs, null);
});

test("an active visitor gets the target from a document after the turn", () => {
  const follower = joinedFollower(nearEntry());
  follower.receiveDocument(publicDocument({ target_url: "https://old.example/" }), 1_000);
  follower.receiveEntry(activeEntry(), 5_000);
  assert.equal(follower.viewAt(5_000).targetUrl, "");
  assertNext(follower, "document", 5_000);
  follower.receiveFailure("document", noAnswer(), 5_100);
  assertNext(follower, "document", 8_600);
  follower.receiveDocument(publicDocument({ now_ms: 2_000, target_url: "https://shop.example/" }), 8_700);
  assert.equal(follower.viewAt(8_700).targetUrl, "https://shop.example/");
  // No other document is needed.
  assertNext(follower, "status", 95_000);
  follower.receiveEntry(activeEntry(), 95_000);
  assertNext(follower, "status", 185_000);
});

test("an answer with the target needs no document", () => {
  const follower = joinedFollower(activeEntry({ target_url: "https://shop.example/" }));
  assert.equal(follower.viewAt(0).targetUrl, "https://shop.example/");
  assertNext(follower, "status", 90_000);
});

test("answers about the entry tell about the queue", () => {
  const follower = joinedFollower(nearEntry({ queue_state: "paused", message: "Back soon" }));
  const { queue, needsDocument } = follower.viewAt(0);
  assert.deepEqual([queue.state, queue.message, needsDocument], ["paused", "Back soon", false]);
  follower.receiveEntry(nearEntry(), 1);
  assert.deepEqual([follower.viewAt(1).queue.state, follower.viewAt(1).queue.message], ["open", ""]);
});

test("leaving ends the visit", () => {
  for (const [entry, state] of [[nearEntry(), "left"], [activeEntry(), "completed"]]) {
    const follower = joinedFollower(entry);
    follower.leave(1_000);
    assert.deepEqual([follower.entry.state, follower.entry.pass, follower.token], [state, undefined, ""]);
    assertNext(follower, "none", Infinity);
  }
});
