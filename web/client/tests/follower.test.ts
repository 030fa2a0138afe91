// The rules of the follower, with a clock and randomness of the test.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Follower } from "../src/follower.js";
import type { PositionWait } from "../src/wire.js";
import {
  LANE,
  assertNext,
  bareEntry,
  farEntry,
  joinAt,
  joinedFollower,
  nearEntry,
  publicDocument,
  receiveDocument,
  receiveEntry,
  receiveFailure,
  refusal,
  waiting,
} from "./samples.js";

test("joining enters, or asks the entry of a stored token", () => {
  const follower = new Follower(() => 0.5);
  assertNext(follower, "enter", Infinity);
  joinAt(follower, 7);
  assertNext(follower, "enter", 7);
  joinAt(follower, 8, "t");
  assertNext(follower, "status", 8);
  assert.equal(receiveFailure(follower, "status", refusal(410, "expired"), 9), false);
  assertNext(follower, "enter", 9);
  assert.equal(follower.token, "");
});

test("an entry without look_after_ms is polled with a hold at retry_after_ms", () => {
  const follower = joinedFollower(bareEntry());
  assert.deepEqual(follower.nextRequest, { kind: "status", holdSeconds: 5, atMs: 5_000 });
  follower.attendance.changeVisibility(false, 0);
  assert.equal(follower.nextRequest.holdSeconds, 20);
  receiveDocument(follower, publicDocument({ state: "paused", message: "Soon" }), 4_000);
  assertNext(follower, "status", 5_000);
  const { queue } = follower.stateAt(4_000);
  assert.deepEqual([queue.state, queue.message], ["paused", "Soon"]);
  receiveEntry(follower, bareEntry({ retry_after_ms: 1 }), 6_000);
  assertNext(follower, "status", 6_250);
});

test("a far entry is not asked: only the document is read", () => {
  const follower = joinedFollower();
  // A sixth of 400 s is more than the longest interval.
  assertNext(follower, "document", 60_000);
  receiveDocument(follower, publicDocument({ rate: 100 }), 60_000);
  // A sixth of 4,000 / 100 s.
  assertNext(follower, "document", 60_000 + 40_000 / 6);
  receiveDocument(follower, publicDocument({ now_ms: 2_000, rate: 1_000 }), 70_000);
  assertNext(follower, "document", 73_000);
});

test("without any expected wait the first document comes soon", () => {
  const follower = joinedFollower(farEntry({ estimated_wait_seconds: undefined }));
  assertNext(follower, "document", 3_000);
  receiveDocument(follower, publicDocument({ rate: null }), 3_000);
  assertNext(follower, "document", 63_000);
});

test("the interval has jitter to both sides", () => {
  const dueMs = (value: number) => joinedFollower(farEntry(), () => value).nextRequest.atMs;
  assert.ok(dueMs(0) < 60_000 && dueMs(0) >= 50_000, `${dueMs(0)}`);
  assert.ok(dueMs(0.999) > 60_000 && dueMs(0.999) <= 70_000, `${dueMs(0.999)}`);
});

test("a called entry is asked at once, with a hold", () => {
  const follower = joinedFollower();
  receiveDocument(follower, publicDocument({}, { check_in_through: 129_999 }), 60_000);
  assert.equal(follower.nextRequest.kind, "document");
  assert.equal(waiting(follower, 60_000).isCalled, false);
  receiveDocument(follower, publicDocument({ now_ms: 2_000 }, { check_in_through: 130_000 }), 90_000);
  assert.deepEqual(follower.nextRequest, { kind: "status", holdSeconds: 5, atMs: 90_000 });
  assert.equal(waiting(follower, 90_000).isCalled, true);
  receiveEntry(follower, nearEntry(), 90_100);
  assertNext(follower, "status", 95_100);
  assert.equal(follower.nextRequest.holdSeconds, 5);
});

test("only the lane of the entry calls it", () => {
  const follower = joinedFollower(farEntry({ lane: 4 }));
  receiveDocument(follower, publicDocument({}, { check_in_through: 200_000 }), 60_000);
  assert.equal(follower.nextRequest.kind, "document");
  const lanes = { 0: LANE, 4: { ...LANE, check_in_through: 130_000 } };
  receiveDocument(follower, publicDocument({ now_ms: 2_000, lanes }), 61_000);
  assertNext(follower, "status", 61_000);
});

test("a hidden tab checks in when it is called", () => {
  const follower = joinedFollower();
  follower.attendance.changeVisibility(false, 0);
  receiveDocument(follower, publicDocument({}, { check_in_through: 130_000 }), 60_000);
  assert.deepEqual(follower.nextRequest, { kind: "status", holdSeconds: 20, atMs: 60_000 });
});

test("an answer can send a called entry back to the document", () => {
  const follower = joinedFollower();
  receiveDocument(follower, publicDocument({}, { check_in_through: 130_000 }), 60_000);
  receiveEntry(follower, farEntry({ gone_ahead: 1_500, position: 3_500 }), 60_100);
  // The document that called is older than the answer. The rate of the document, 10 per second, makes the wait 350 s.
  assertNext(follower, "document", 60_100 + 350_000 / 6);
  // A newer document that contradicts the answer does not cause more requests than reading the document does.
  receiveDocument(follower, publicDocument({ now_ms: 2_000 }, { check_in_through: 130_000 }), 61_000);
  assertNext(follower, "status", 63_100);
});

test("the entry is asked when look_after_ms has passed", () => {
  const follower = joinedFollower(farEntry({ look_after_ms: 50_000 }));
  assert.deepEqual(follower.nextRequest, { kind: "status", holdSeconds: 0, atMs: 50_000 });
  receiveEntry(follower, farEntry(), 50_100);
  // One request for each look: the answer replaces the document.
  assertNext(follower, "document", 110_100);
});

test("the position follows gone_ahead and never rises", () => {
  const follower = joinedFollower();
  const positionWith = (goneAhead: number, nowMs: number) => {
    receiveDocument(follower, publicDocument({ now_ms: nowMs }, { gone_ahead: goneAhead }), nowMs);
    return waiting(follower, nowMs).position;
  };
  assert.equal(waiting(follower, 0).position, 4_000);
  assert.equal(positionWith(1_400, 1_000), 3_600);
  assert.equal(positionWith(1_300, 2_000), 3_600);
  assert.equal(positionWith(2_000, 3_000), 3_000);
  receiveEntry(follower, farEntry({ position: 3_100, gone_ahead: 2_000 }), 4_000);
  assert.equal(waiting(follower, 4_000).position, 3_000);
  assert.equal(positionWith(2_200, 5_000), 2_900);
  assert.equal(positionWith(99_999, 6_000), 1);
});

test("a reload keeps the lowest position, and another visit does not", () => {
  const follower = joinedFollower();
  receiveDocument(follower, publicDocument({}, { gone_ahead: 2_000 }), 1_000);
  const reloaded = new Follower(() => 0.5);
  joinAt(reloaded, 0, "t", follower.lowest);
  receiveEntry(reloaded, farEntry(), 0);
  assert.equal(waiting(reloaded, 0).position, 3_000);
  receiveEntry(reloaded, farEntry({ visit: 2, position: 9_000 }), 1);
  assert.equal(waiting(reloaded, 1).position, 9_000);
});

test("an answer without a position shows none, and a later one is not higher", () => {
  const positions = [5, 3, 9, undefined, 4, 2];
  const shown = positions.map((_, n, all) => {
    const follower = joinedFollower(bareEntry({ position: 5 }));
    for (const position of all.slice(1, n + 1)) receiveEntry(follower, bareEntry({ position }), 1);
    return waiting(follower, 1).position;
  });
  assert.deepEqual(shown, [5, 3, 3, null, 3, 2]);
});

test("a document older than one already seen is ignored", () => {
  const newest = { generation: 2, epoch: 3, now_ms: 5_000 };
  for (const older of [{ now_ms: 4_999 }, { epoch: 2, now_ms: 9_000 }, { generation: 1, epoch: 9, now_ms: 9_000 }]) {
    const follower = joinedFollower();
    receiveDocument(follower, publicDocument(newest, { gone_ahead: 1_100 }), 1_000);
    const changes = { ...newest, ...older, message: "old" };
    receiveDocument(follower, publicDocument(changes, { gone_ahead: 2_000, check_in_through: 200_000 }), 2_000);
    assert.equal(waiting(follower, 2_000).position, 3_900);
    assert.deepEqual([follower.stateAt(2_000).queue.message, waiting(follower, 2_000).isCalled], ["", false]);
    // The wait by the rate is 390 s, so the interval is the longest.
    assertNext(follower, "document", 62_000);
  }
});

const WAITS: PositionWait[] = [
  { position: 1, low: 0, high: 2 },
  { position: 2_000, low: 150, high: 250 },
  { position: 4_000, low: 350, high: 450 },
];

test("the estimate lies between those of the document around the position", () => {
  const estimateAt = (position: number, estimated_waits = WAITS) => {
    const follower = joinedFollower(farEntry({ position }));
    receiveDocument(follower, publicDocument({ estimated_waits }), 1_000);
    return waiting(follower, 1_000).estimatedWaitSeconds;
  };
  assert.deepEqual(estimateAt(4_000), { low: 350, high: 450 });
  assert.deepEqual(estimateAt(3_000), { low: 250, high: 350 });
  assert.deepEqual(estimateAt(8_000), { low: 700, high: 900 });
  assert.equal(estimateAt(4_000, []), null);
});

test("ahead counts the turns of all lanes, and behind the rest of the line", () => {
  const answered = { position: 1, ahead: 40, behind: 33 };
  const near = joinedFollower(nearEntry({ ...answered, waiting: 74 }));
  assert.deepEqual([waiting(near, 0).ahead, waiting(near, 0).behind, waiting(near, 0).isAheadExpected], [40, 33, false]);

  const without = joinedFollower(nearEntry(answered));
  assert.equal(waiting(without, 0).behind, null, "the answer does not say how many wait");

  const follower = joinedFollower(farEntry({ position: 1_000, ahead: 1_040, waiting: 2_000 }));
  assert.equal(waiting(follower, 0).ahead, 1_040);
  const ahead = [
    { position: 1, ahead: 30 },
    { position: 500, ahead: 529 },
    { position: 1_500, ahead: 1_529 },
  ];
  receiveDocument(follower, publicDocument({ now_ms: 2_000, waiting: 1_990 }, { ahead, gone_ahead: 1_010 }), 1_000);
  const shown = waiting(follower, 1_000);
  assert.deepEqual([shown.position, shown.ahead, shown.behind], [990, 1_019, 970]);
  receiveDocument(follower, publicDocument({ now_ms: 3_000, waiting: 1_990 }, { gone_ahead: 1_010 }), 2_000);
  assert.equal(waiting(follower, 2_000).ahead, 989, "the other lane is empty");
});

test("while lanes share the turns, ahead is marked as expected", () => {
  const follower = joinedFollower(farEntry({ position: 1_000, ahead: 1_111, ahead_is_expected: true }));
  assert.equal(waiting(follower, 0).isAheadExpected, true);
  const lane = { ahead: [{ position: 2_000, ahead: 2_222 }], ahead_is_expected: true };
  receiveDocument(follower, publicDocument({ now_ms: 2_000 }, lane), 1_000);
  assert.deepEqual([waiting(follower, 1_000).ahead, waiting(follower, 1_000).isAheadExpected], [1_111, true]);
});

test("the estimate is that of the own lane while lanes share the promotions", () => {
  const follower = joinedFollower(farEntry({ position: 2_000 }));
  const lane = { estimated_waits: [{ position: 4_000, low: 3_500, high: 4_500 }] };
  receiveDocument(follower, publicDocument({ estimated_waits: WAITS }, lane), 1_000);
  assert.deepEqual(waiting(follower, 1_000).estimatedWaitSeconds, { low: 1_750, high: 2_250 });
});

test("the interval follows the shortest expected wait of the document", () => {
  const follower = joinedFollower(farEntry({ position: 2_000 }));
  receiveDocument(follower, publicDocument({ estimated_waits: WAITS }), 1_000);
  assertNext(follower, "document", 1_000 + 150_000 / 6);
});

test("the estimate counts down, also by the age of a cached document", () => {
  const follower = joinedFollower(farEntry({ position: 2_000 }));
  assert.deepEqual(waiting(follower, 10_000).estimatedWaitSeconds, { low: 290, high: 490 });
  receiveDocument(follower, publicDocument({ estimated_waits: WAITS, now_ms: 500_000 }), 20_000);
  assert.deepEqual(waiting(follower, 20_000).estimatedWaitSeconds, { low: 150, high: 250 });
  // This one is 8 s old when it comes.
  receiveDocument(follower, publicDocument({ estimated_waits: WAITS, now_ms: 510_000 }), 38_000);
  assert.deepEqual(waiting(follower, 38_000).estimatedWaitSeconds, { low: 142, high: 242 });
  assert.deepEqual(waiting(follower, 400_000).estimatedWaitSeconds, { low: 0, high: 1 });
});

test("the estimate of the document replaces that of the answer", () => {
  const follower = joinedFollower();
  const estimateWith = (changes: Parameters<typeof publicDocument>[0], nowMs: number) => {
    receiveDocument(follower, publicDocument({ now_ms: nowMs, ...changes }, { gone_ahead: 3_000 }), nowMs);
    return waiting(follower, nowMs).estimatedWaitSeconds;
  };
  assert.deepEqual(waiting(follower, 0).estimatedWaitSeconds, { low: 300, high: 500 });
  assert.deepEqual(estimateWith({ rate: 10 }, 1_000), { low: 200, high: 200 });
  assert.deepEqual(estimateWith({ rate: 20 }, 2_000), { low: 100, high: 100 });
  // The line stands still.
  assert.equal(estimateWith({ rate: null }, 3_000), null);
  assertNext(follower, "document", 63_000);
});
