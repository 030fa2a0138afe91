// The rules of the follower while requests fail, documents stay the same, and a queue is restored or reset.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  assertNext,
  farEntry,
  joinedFollower,
  nearEntry,
  noAnswer,
  olderEntry,
  publicDocument,
  unavailable,
} from "./samples.js";
import { ProblemError, backoffMs } from "../problem.js";

// Far from the boundary: the window has some 1,000 entries of this lane, so 60,000 is more than three windows.
const FAR = { position: 60_000, place: 700_000 };
const NEAR = { position: 1_200, place: 102_000 };

test("the document is asked again with backoff after a failure", () => {
  const follower = joinedFollower(farEntry(FAR), () => 0.999_999);
  const delays = [];
  for (let nowMs = 60_000; delays.length < 8; nowMs = Math.round(follower.nextRequest.atMs)) {
    assert.equal(follower.receiveFailure("document", noAnswer(), nowMs), false);
    assert.equal(follower.nextRequest.kind, "document");
    delays.push(Math.round(follower.nextRequest.atMs - nowMs) / 1_000);
  }
  // The shortest interval, and a doubling bound up to the longest one.
  assert.deepEqual(delays, [4, 5, 7, 11, 19, 35, 63, 63]);
  follower.receiveFailure("document", unavailable(30_000), 400_000);
  assertNextRounded(follower, "document", 490_000);
});

function assertNextRounded(follower, kind, atMs) {
  const { nextRequest } = follower;
  assert.deepEqual([nextRequest.kind, Math.round(nextRequest.atMs)], [kind, atMs]);
}

test("a near entry is polled when documents stop to come", () => {
  const follower = joinedFollower(farEntry(NEAR));
  // The wait of 400 s by the answer: an interval of 60 s, so the document is stale after 120 s.
  follower.receiveFailure("document", noAnswer(), 60_000);
  assert.equal(follower.viewAt(119_999).isStale, false);
  assertNext(follower, "document", 63_500);
  follower.receiveFailure("document", noAnswer(), 119_000);
  assertNext(follower, "status", 120_000);
  assert.equal(follower.viewAt(120_000).isStale, true);
  follower.receiveEntry(farEntry({ ...NEAR, retry_after_ms: 4_000 }), 120_100);
  assert.equal(follower.viewAt(120_100).isStale, false, "the answer is new");
  // The document is still asked, by its own backoff, and the entry at retry_after_ms.
  assert.deepEqual(requestKinds(follower, 120_100, 160_000), new Set(["status", "document"]));
  follower.receiveDocument(publicDocument(), 160_000);
  assert.equal(follower.nextRequest.kind, "document");
});

function requestKinds(follower, fromMs, untilMs) {
  const kinds = new Set();
  for (let nowMs = fromMs; nowMs < untilMs; ) {
    const { kind, atMs } = follower.nextRequest;
    nowMs = Math.max(nowMs, atMs);
    kinds.add(kind);
    if (kind === "document") follower.receiveFailure(kind, noAnswer(), nowMs);
    else follower.receiveEntry(farEntry({ ...NEAR, retry_after_ms: 4_000 }), nowMs);
  }
  return kinds;
}

test("a far entry waits for look_after_ms when documents stop to come", () => {
  const follower = joinedFollower(farEntry(FAR));
  assert.deepEqual(requestKindsUntilLook(follower), ["document", 600_000]);
});

// The only kind of requests before the first one about the entry, and its time.
function requestKindsUntilLook(follower) {
  for (;;) {
    const { kind, atMs } = follower.nextRequest;
    if (kind === "status") return ["document", atMs];
    assert.equal(kind, "document");
    follower.receiveFailure(kind, noAnswer(), atMs);
  }
}

test("a document that does not advance is stale after 15 s or two refreshes", () => {
  const follower = joinedFollower(farEntry(NEAR));
  const document = publicDocument({ rate: 100 });
  follower.receiveDocument(document, 1_000);
  // A wait of 12 s: the document is read each 3 s.
  for (const nowMs of [4_000, 7_000, 10_000, 13_000]) {
    assertNext(follower, "document", nowMs);
    follower.receiveDocument(document, nowMs);
  }
  assertNext(follower, "status", 16_000);
  follower.receiveDocument(document, 15_999);
  assert.equal(follower.viewAt(15_999).isStale, false);
  assert.equal(follower.viewAt(16_000).isStale, true);
  follower.receiveDocument({ ...document, now_ms: 2_000 }, 16_000);
  assertNext(follower, "document", 19_000);
  assert.equal(follower.viewAt(16_000).isStale, false);
});

test("an older document does not count as an advance", () => {
  const follower = joinedFollower(farEntry(FAR));
  follower.receiveDocument(publicDocument({ now_ms: 9_000 }), 1_000);
  follower.receiveDocument(publicDocument({ now_ms: 8_000 }), 120_999);
  assert.equal(follower.viewAt(121_000).isStale, true);
  follower.receiveDocument(publicDocument({ now_ms: 8_500 }), 121_000);
  // The backoff: the shortest interval and half of the first bound.
  assertNext(follower, "document", 124_500);
});

test("after a restore the entry is asked at random within resync_ms", () => {
  for (const random of [0, 0.25, 0.999]) {
    const follower = joinedFollower(farEntry(), () => random);
    follower.receiveDocument(publicDocument(), 1_000);
    follower.receiveDocument(publicDocument({ epoch: 2, now_ms: 2_000 }, { gone_ahead: 5_000 }), 2_000);
    assert.equal(follower.viewAt(2_000).position, 4_000, "the count of another epoch says nothing");
    assert.equal(follower.viewAt(2_000).isResyncing, true);
    // Later documents draw no other time.
    follower.receiveDocument(publicDocument({ epoch: 2, now_ms: 2_001 }), 2_001);
    assert.deepEqual(follower.nextRequest, { kind: "status", token: "t", holdSeconds: 0, atMs: 2_000 + random * 20_000 });
    follower.receiveEntry(farEntry({ position: 3_900, gone_ahead: 7 }), 30_000);
    assert.equal(follower.viewAt(30_000).isResyncing, false);
    follower.receiveDocument(publicDocument({ epoch: 2, now_ms: 3_000 }, { gone_ahead: 107 }), 31_000);
    assert.equal(follower.viewAt(31_000).position, 3_800);
  }
});

test("an entry that is called after a restore does not wait for resync_ms", () => {
  const follower = joinedFollower(farEntry(), () => 0.9);
  follower.receiveDocument(publicDocument(), 1_000);
  follower.receiveDocument(publicDocument({ epoch: 2 }, { check_in_through: 130_000 }), 5_000);
  assertNext(follower, "status", 5_000);
});

test("after a reset the client enters again at random within resync_ms", () => {
  for (const random of [0, 0.25, 0.999]) {
    const follower = joinedFollower(farEntry(), () => random);
    follower.receiveDocument(publicDocument(), 1_000);
    follower.receiveDocument(publicDocument({ generation: 2, epoch: 1, now_ms: 2_000 }), 2_000);
    assertNext(follower, "enter", 2_000 + random * 20_000);
    follower.receiveFailure("enter", unavailable(3_000), 30_000);
    assert.equal(follower.nextRequest.kind, "enter");
    assert.ok(follower.nextRequest.atMs >= 33_000);
    follower.receiveEntry(farEntry({ token: "u", position: 9_000 }), 40_000);
    assert.deepEqual([follower.viewAt(40_000).position, follower.token], [9_000, "u"]);
  }
});

test("a closed queue after a reset leaves no place", () => {
  const follower = joinedFollower();
  follower.receiveDocument(publicDocument(), 1_000);
  follower.receiveDocument(publicDocument({ generation: 2 }), 2_000);
  assert.equal(follower.receiveFailure("enter", new ProblemError({ status: 409, code: "queue-closed" }), 20_000), true);
  assertNext(follower, "none", Infinity);
  assert.equal(follower.viewAt(20_000).state, "none");
});

test("Retry-After is a floor to which jitter under a doubling bound is added", () => {
  const delays = (random) =>
    [0, 1, 2, 3, 9].map((failures) => backoffMs({ retryAfterMs: 2_000, failures, boundMs: 12_000, random: () => random }));
  assert.deepEqual(delays(0), [2_000, 2_000, 2_000, 2_000, 2_000]);
  assert.deepEqual(delays(0.5), [2_500, 3_000, 4_000, 6_000, 8_000]);
  assert.equal(backoffMs({ failures: 1, boundMs: 12_000, random: () => 0.5 }), 1_000);
});

test("the jitter of a retry is at most a fifth of claim_seconds", () => {
  // retry_after_ms is at most two thirds of claim_seconds, so claim_seconds is at least 30 here, and a fifth of it 6 s.
  const follower = joinedFollower(olderEntry({ retry_after_ms: 20_000 }), () => 0.999_999);
  for (const [failures, bound] of [[0, 1_000], [1, 2_000], [2, 4_000], [3, 6_000], [4, 6_000]]) {
    const nowMs = 100_000 * (failures + 1);
    assert.equal(follower.receiveFailure("status", unavailable(10_000), nowMs), true);
    assertNextRounded(follower, "status", nowMs + 10_000 + bound);
  }
  assert.equal(follower.viewAt(0).hasProblem, true);
  follower.receiveEntry(olderEntry(), 600_000);
  assert.equal(follower.viewAt(600_000).hasProblem, false);
  assertNext(follower, "status", 605_000);
});

test("a look that failed is repeated, and documents are read meanwhile", () => {
  const follower = joinedFollower(farEntry({ look_after_ms: 70_000 }));
  follower.receiveDocument(publicDocument({ rate: 1_000 }), 60_000);
  follower.receiveFailure("status", new ProblemError({ status: 429, code: "too-many-requests" }, 9_000), 70_000);
  assertNext(follower, "document", 63_000);
  follower.receiveDocument(publicDocument({ rate: 1_000, now_ms: 2_000 }), 78_000);
  assertNext(follower, "status", 79_500);
});

test("a failed look of a far entry is repeated as late as the next one", () => {
  const follower = joinedFollower(farEntry({ look_after_ms: 70_000 }));
  follower.receiveDocument(publicDocument({ rate: 1 }), 60_000);
  const refusal = new ProblemError({ status: 503, code: "unavailable" }, 9_000);
  follower.receiveFailure("status", refusal, 70_000);
  follower.receiveFailure("document", new ProblemError({ status: 503, code: "unavailable" }, 3_600_000), 70_000);
  assertNext(follower, "status", 140_000);
});

test("a failure that no retry can mend stops all requests", () => {
  const follower = joinedFollower();
  assert.equal(follower.receiveFailure("status", new ProblemError({ status: 403, code: "forbidden" }), 1_000), true);
  assertNext(follower, "none", Infinity);
});

test("the end of a visit stops all requests", () => {
  const follower = joinedFollower(nearEntry({ state: "ready" }));
  const problem = new ProblemError({ status: 410, code: "expired", state: "expired", grace_until_ms: 9, grace_in_ms: 600 });
  assert.equal(follower.receiveFailure("claim", problem, 1_000), false);
  assertNext(follower, "none", Infinity);
  assert.deepEqual([follower.entry.state, follower.entry.grace_until_ms, follower.token], ["expired", 9, ""]);
  assert.deepEqual([follower.viewAt(1_400).leftMs, follower.viewAt(9_000).leftMs], [200, 0]);
});

test("a place that the server does not know is reported", () => {
  const follower = joinedFollower(nearEntry());
  assert.equal(follower.receiveFailure("status", new ProblemError({ status: 404, code: "unknown-entry" }), 1_000), true);
  assert.deepEqual([follower.entry, follower.nextRequest.kind, follower.viewAt(0).hasProblem], [null, "none", true]);
});
