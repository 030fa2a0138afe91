// The rules of the follower, with a clock and randomness of the test.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Follower } from "../follower.js";
import { ProblemError } from "../problem.js";
import { LANE, assertNext, farEntry, joinedFollower, nearEntry, olderEntry, publicDocument } from "./samples.js";

test("joining enters, or asks the entry of a stored token", () => {
  const follower = new Follower({ random: () => 0.5 });
  assertNext(follower, "none", Infinity);
  follower.join("", 7);
  assertNext(follower, "enter", 7);
  follower.join("t", 8);
  assert.deepEqual(follower.nextRequest, { kind: "status", token: "t", holdSeconds: 0, atMs: 8 });
  assert.equal(follower.receiveFailure("status", new ProblemError({ status: 410, code: "expired" }), 9), false);
  assertNext(follower, "enter", 9);
  assert.equal(follower.token, "");
});

test("an older server is polled with a hold at retry_after_ms", () => {
  const follower = joinedFollower(olderEntry());
  assert.deepEqual(follower.nextRequest, { kind: "status", token: "t", holdSeconds: 5, atMs: 5_000 });
  follower.changeVisibility(false);
  assert.equal(follower.nextRequest.holdSeconds, 20);
  follower.receiveDocument({ queue: "q", paused: true, entrance: "open", message: "Soon" }, 4_000);
  assertNext(follower, "status", 5_000);
  const view = follower.viewAt(4_000);
  assert.deepEqual(
    [view.needsDocument, view.isFollowing, view.queue.state, view.queue.message],
    [true, false, "paused", "Soon"],
  );
  follower.receiveEntry(olderEntry({ retry_after_ms: 1 }), 6_000);
  assertNext(follower, "status", 6_250);
});

test("a far entry is not asked: only the document is read", () => {
  const follower = joinedFollower();
  // A sixth of 400 s is more than the longest interval.
  assertNext(follower, "document", 60_000);
  follower.receiveDocument(publicDocument({ rate: 100 }), 60_000);
  // A sixth of 4,000 / 100 s.
  assertNext(follower, "document", 60_000 + 40_000 / 6);
  follower.receiveDocument(publicDocument({ now_ms: 2_000, rate: 1_000 }), 70_000);
  assertNext(follower, "document", 73_000);
  assert.equal(follower.viewAt(70_000).isFollowing, true);
});

test("without any expected wait the first document comes soon", () => {
  const follower = joinedFollower(farEntry({ estimated_wait_seconds: undefined }));
  assertNext(follower, "document", 3_000);
  follower.receiveDocument(publicDocument({ rate: null }), 3_000);
  assertNext(follower, "document", 63_000);
});

test("the interval has jitter to both sides", () => {
  const dueMs = (value) => joinedFollower(farEntry(), () => value).nextRequest.atMs;
  assert.ok(dueMs(0) < 60_000 && dueMs(0) >= 50_000, `${dueMs(0)}`);
  assert.ok(dueMs(0.999) > 60_000 && dueMs(0.999) <= 70_000, `${dueMs(0.999)}`);
});

test("a called entry is asked at once, with a hold", () => {
  const follower = joinedFollower();
  follower.receiveDocument(publicDocument({}, { check_in_through: 129_999 }), 60_000);
  assert.equal(follower.nextRequest.kind, "document");
  assert.equal(follower.viewAt(60_000).isCalled, false);
  follower.receiveDocument(publicDocument({ now_ms: 2_000 }, { check_in_through: 130_000 }), 90_000);
  assert.deepEqual(follower.nextRequest, { kind: "status", token: "t", holdSeconds: 5, atMs: 90_000 });
  assert.equal(follower.viewAt(90_000).isCalled, true);
  follower.receiveEntry(nearEntry(), 90_100);
  assertNext(follower, "status", 95_100);
  assert.equal(follower.nextRequest.holdSeconds, 5);
});

test("only the lane of the entry calls it", () => {
  const follower = joinedFollower(farEntry({ lane: 4 }));
  follower.receiveDocument(publicDocument({}, { check_in_through: 200_000 }), 60_000);
  assert.equal(follower.nextRequest.kind, "document");
  const lanes = { 0: LANE, 4: { ...LANE, check_in_through: 130_000 } };
  follower.receiveDocument(publicDocument({ now_ms: 2_000, lanes }), 61_000);
  assertNext(follower, "status", 61_000);
});

test("a hidden tab checks in when it is called", () => {
  const follower = joinedFollower();
  follower.changeVisibility(false);
  follower.receiveDocument(publicDocument({}, { check_in_through: 130_000 }), 60_000);
  assert.deepEqual(follower.nextRequest, { kind: "status", token: "t", holdSeconds: 20, atMs: 60_000 });
});

test("an answer can send a called entry back to the document", () => {
  const follower = joinedFollower();
  follower.receiveDocument(publicDocument({}, { check_in_through: 130_000 }), 60_000);
  follower.receiveEntry(farEntry({ gone_ahead: 1_500, position: 3_500 }), 60_100);
  // The document that called is older than the answer. The rate of the document, 10 per second, makes the wait 350 s.
  assertNext(follower, "document", 60_100 + 350_000 / 6);
  // A newer document that contradicts the answer does not cause more requests than reading the document does.
  follower.receiveDocument(publicDocument({ now_ms: 2_000 }, { check_in_through: 130_000 }), 61_000);
  assertNext(follower, "status", 63_100);
});

test("the entry is asked when look_after_ms has passed", () => {
  const follower = joinedFollower(farEntry({ look_after_ms: 50_000 }));
  assert.deepEqual(follower.nextRequest, { kind: "status", token: "t", holdSeconds: 0, atMs: 50_000 });
  follower.receiveEntry(farEntry(), 50_100);
  // One request for each look: the answer replaces the document.
  assertNext(follower, "document", 110_100);
});

test("the position follows gone_ahead and never rises", () => {
  const follower = joinedFollower();
  const positionWith = (goneAhead, nowMs) => {
    follower.receiveDocument(publicDocument({ now_ms: nowMs }, { gone_ahead: goneAhead }), nowMs);
    return follower.viewAt(nowMs).position;
  };
  assert.equal(follower.viewAt(0).position, 4_000);
  assert.equal(positionWith(1_400, 1_000), 3_600);
  assert.equal(positionWith(1_300, 2_000), 3_600);
  assert.equal(positionWith(2_000, 3_000), 3_000);
  follower.receiveEntry(farEntry({ position: 3_100, gone_ahead: 2_000 }), 4_000);
  assert.equal(follower.viewAt(4_000).position, 3_000);
  assert.equal(positionWith(2_200, 5_000), 2_900);
  assert.equal(positionWith(99_999, 6_000), 1);
});

test("a reload keeps the lowest position, and another visit does not", () => {
  const follower = joinedFollower();
  follower.receiveDocument(publicDocument({}, { gone_ahead: 2_000 }), 1_000);
  const { lowest } = follower.viewAt(1_000);
  const reloaded = new Follower({ random: () => 0.5 });
  reloaded.restorePosition(lowest);
  reloaded.join("t", 0);
  reloaded.receiveEntry(farEntry(), 0);
  assert.equal(reloaded.viewAt(0).position, 3_000);
  reloaded.receiveEntry(farEntry({ visit: 2, position: 9_000 }), 1);
  assert.equal(reloaded.viewAt(1).position, 9_000);
});

test("an answer without a position shows none, and a later one is not higher", () => {
  const shown = [5, 3, 9, null, 4, 2].map((position, n, all) => {
    const follower = joinedFollower(olderEntry({ position: all[0] }));
    all.slice(1, n + 1).forEach((next) => follower.receiveEntry(olderEntry({ position: next }), 1));
    return follower.viewAt(1).position;
  });
  assert.deepEqual(shown, [5, 3, 3, null, 3, 2]);
});

test("a document older than one already seen is ignored", () => {
  const newest = { generation: 2, epoch: 3, now_ms: 5_000 };
  for (const older of [{ now_ms: 4_999 }, { epoch: 2, now_ms: 9_000 }, { generation: 1, epoch: 9, now_ms: 9_000 }]) {
    const follower = joinedFollower();
    follower.receiveDocument(publicDocument(newest, { gone_ahead: 1_100 }), 1_000);
    const document = publicDocument({ ...newest, ...older }, { gone_ahead: 2_000, check_in_through: 200_000 });
    follower.receiveDocument({ ...document, message: "old" }, 2_000);
    assert.equal(follower.viewAt(2_000).position, 3_900);
    assert.deepEqual([follower.viewAt(2_000).queue.message, follower.viewAt(2_000).isCalled], ["", false]);
    // The wait by the rate is 390 s, so the interval is the longest.
    assertNext(follower, "document", 62_000);
  }
});

const WAITS = [
  { position: 1, low: 0, high: 2 },
  { position: 2_000, low: 150, high: 250 },
  { position: 4_000, low: 350, high: 450 },
];

test("the estimate lies between those of the document around the position", () => {
  const estimateAt = (position, estimated_waits = WAITS) => {
    const follower = joinedFollower(farEntry({ position }));
    follower.receiveDocument(publicDocument({ estimated_waits, rate: 1 }), 1_000);
    return follower.viewAt(1_000).estimatedWaitSeconds;
  };
  assert.deepEqual(estimateAt(4_000), { low: 350, high: 450 });
  assert.deepEqual(estimateAt(3_000), { low: 250, high: 350 });
  assert.deepEqual(estimateAt(8_000), { low: 700, high: 900 });
  assert.equal(estimateAt(4_000, []), null);
});

test("the interval follows the shortest expected wait of the document", () => {
  const follower = joinedFollower(farEntry({ position: 2_000 }));
  follower.receiveDocument(publicDocument({ estimated_waits: WAITS, rate: 1_000 }), 1_000);
  assertNext(follower, "document", 1_000 + 150_000 / 6);
});

test("the estimate counts down, also by the age of a cached document", () => {
  const follower = joinedFollower(farEntry({ position: 2_000 }));
  assert.deepEqual(follower.viewAt(10_000).estimatedWaitSeconds, { low: 290, high: 490 });
  follower.receiveDocument(publicDocument({ estimated_waits: WAITS, now_ms: 500_000 }), 20_000);
  assert.deepEqual(follower.viewAt(20_000).estimatedWaitSeconds, { low: 150, high: 250 });
  // This one is 8 s old when it comes.
  follower.receiveDocument(publicDocument({ estimated_waits: WAITS, now_ms: 510_000 }), 38_000);
  assert.deepEqual(follower.viewAt(38_000).estimatedWaitSeconds, { low: 142, high: 242 });
  assert.deepEqual(follower.viewAt(400_000).estimatedWaitSeconds, { low: 0, high: 1 });
});

test("without expected waits the estimate follows the speed of the lane, or the rate", () => {
  const follower = joinedFollower();
  const estimateWith = (changes, nowMs) => {
    follower.receiveDocument(publicDocument({ now_ms: nowMs, ...changes }, { gone_ahead: 3_000 }), nowMs);
    return follower.viewAt(nowMs).estimatedWaitSeconds;
  };
  assert.deepEqual(follower.viewAt(0).estimatedWaitSeconds, { low: 300, high: 500 });
  assert.deepEqual(estimateWith({}, 1_000), { low: 150, high: 250 });
  assert.deepEqual(estimateWith({ rate: 20 }, 2_000), { low: 75, high: 125 });
  const lanes = { 0: { ...LANE, gone_ahead: 3_000, speed: 40 } };
  assert.deepEqual(estimateWith({ rate: 20, lanes }, 2_500), { low: 37, high: 63 });
  assert.equal(estimateWith({ paused: true, state: "paused" }, 3_000), null);
  assertNext(follower, "document", 63_000);
  assert.deepEqual(estimateWith({ rate: null }, 4_000), { low: 300, high: 500 });
});
