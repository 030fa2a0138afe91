// The rules of the follower while requests fail, documents stay the same, and a queue is restored or reset.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Follower } from "../src/follower.js";
import { REFUSAL_CODES, backoffMs, type Refusal } from "../src/problem.js";
import type { RequestKind } from "../src/request.js";
import {
  assertNext,
  bareEntry,
  farEntry,
  joinAt,
  joinedFollower,
  nearEntry,
  noAnswer,
  publicDocument,
  receiveDocument,
  receiveEntry,
  receiveFailure,
  refusal,
  stateWith,
  unavailable,
  waiting,
} from "./samples.js";

// Far from the boundary: the window has some 1,000 entries of this lane, so 60,000 is more than three windows.
const FAR = { position: 60_000, place: 700_000 };
const NEAR = { position: 1_200, place: 102_000 };

test("the document is asked again with backoff after a failure", () => {
  const follower = joinedFollower(farEntry(FAR), () => 0.999_999);
  const delays: number[] = [];
  for (let nowMs = 60_000; delays.length < 8; nowMs = Math.round(follower.nextRequest.atMs)) {
    assert.equal(receiveFailure(follower, "document", noAnswer(), nowMs), false);
    assert.equal(follower.nextRequest.kind, "document");
    delays.push(Math.round(follower.nextRequest.atMs - nowMs) / 1_000);
  }
  // The shortest interval, and a doubling bound up to the longest one.
  assert.deepEqual(delays, [4, 5, 7, 11, 19, 35, 63, 63]);
  receiveFailure(follower, "document", unavailable(30_000), 400_000);
  assertNextRounded(follower, "document", 490_000);
});

function assertNextRounded(follower: Follower, kind: RequestKind, atMs: number) {
  const { nextRequest } = follower;
  assert.deepEqual([nextRequest.kind, Math.round(nextRequest.atMs)], [kind, atMs]);
}

test("a near entry is polled when documents stop to come", () => {
  const follower = joinedFollower(farEntry(NEAR));
  // The wait of 400 s by the answer: an interval of 60 s, so the document is stale after 120 s.
  receiveFailure(follower, "document", noAnswer(), 60_000);
  assert.equal(follower.stateAt(119_999).connection, "online");
  assertNext(follower, "document", 63_500);
  receiveFailure(follower, "document", noAnswer(), 119_000);
  assertNext(follower, "status", 120_000);
  assert.equal(follower.stateAt(120_000).connection, "stale");
  receiveEntry(follower, farEntry({ ...NEAR, retry_after_ms: 4_000 }), 120_100);
  assert.equal(follower.stateAt(120_100).connection, "online", "the answer is new");
  // The document is still asked, by its own backoff, and the entry at retry_after_ms.
  assert.deepEqual(requestKinds(follower, 120_100, 160_000), new Set(["status", "document"]));
  receiveDocument(follower, publicDocument(), 160_000);
  assert.equal(follower.nextRequest.kind, "document");
});

function requestKinds(follower: Follower, fromMs: number, untilMs: number) {
  const kinds = new Set<RequestKind>();
  for (let nowMs = fromMs; nowMs < untilMs;) {
    const { kind, atMs } = follower.nextRequest;
    nowMs = Math.max(nowMs, atMs);
    kinds.add(kind);
    if (kind === "document") receiveFailure(follower, kind, noAnswer(), nowMs);
    else receiveEntry(follower, farEntry({ ...NEAR, retry_after_ms: 4_000 }), nowMs);
  }
  return kinds;
}

test("a far entry waits for look_after_ms when documents stop to come", () => {
  const follower = joinedFollower(farEntry(FAR));
  assert.deepEqual(requestKindsUntilLook(follower), ["document", 600_000]);
});

// The only kind of requests before the first one about the entry, and its time.
function requestKindsUntilLook(follower: Follower) {
  for (;;) {
    const { kind, atMs } = follower.nextRequest;
    if (kind === "status") return ["document", atMs];
    assert.equal(kind, "document");
    receiveFailure(follower, kind, noAnswer(), atMs);
  }
}

test("a document that does not advance is stale after 15 s or two refreshes", () => {
  const follower = joinedFollower(farEntry(NEAR));
  const document = publicDocument({ rate: 100 });
  receiveDocument(follower, document, 1_000);
  // A wait of 12 s: the document is read each 3 s.
  for (const nowMs of [4_000, 7_000, 10_000, 13_000]) {
    assertNext(follower, "document", nowMs);
    receiveDocument(follower, document, nowMs);
  }
  assertNext(follower, "status", 16_000);
  receiveDocument(follower, document, 15_999);
  assert.equal(follower.stateAt(15_999).connection, "online");
  assert.equal(follower.stateAt(16_000).connection, "stale");
  receiveDocument(follower, { ...document, now_ms: 2_000 }, 16_000);
  assertNext(follower, "document", 19_000);
  assert.equal(follower.stateAt(16_000).connection, "online");
});

test("an older document does not count as an advance", () => {
  const follower = joinedFollower(farEntry(FAR));
  receiveDocument(follower, publicDocument({ now_ms: 9_000 }), 1_000);
  receiveDocument(follower, publicDocument({ now_ms: 8_000 }), 120_999);
  assert.equal(follower.stateAt(121_000).connection, "stale");
  receiveDocument(follower, publicDocument({ now_ms: 8_500 }), 121_000);
  // The backoff: the shortest interval and half of the first bound.
  assertNext(follower, "document", 124_500);
});

test("after a restore the entry is asked at random within resync_ms", () => {
  for (const random of [0, 0.25, 0.999]) {
    const follower = joinedFollower(farEntry(), () => random);
    receiveDocument(follower, publicDocument(), 1_000);
    receiveDocument(follower, publicDocument({ epoch: 2, now_ms: 2_000 }, { gone_ahead: 5_000 }), 2_000);
    assert.equal(waiting(follower, 2_000).position, 4_000, "the count of another epoch says nothing");
    // Later documents draw no other time.
    receiveDocument(follower, publicDocument({ epoch: 2, now_ms: 2_001 }), 2_001);
    assert.deepEqual(follower.nextRequest, { kind: "status", holdSeconds: 0, atMs: 2_000 + random * 20_000 });
    receiveEntry(follower, farEntry({ position: 3_900, gone_ahead: 7 }), 30_000);
    receiveDocument(follower, publicDocument({ epoch: 2, now_ms: 3_000 }, { gone_ahead: 107 }), 31_000);
    assert.equal(waiting(follower, 31_000).position, 3_800);
  }
});

test("an entry that is called after a restore does not wait for resync_ms", () => {
  const follower = joinedFollower(farEntry(), () => 0.9);
  receiveDocument(follower, publicDocument(), 1_000);
  receiveDocument(follower, publicDocument({ epoch: 2 }, { check_in_through: 130_000 }), 5_000);
  assertNext(follower, "status", 5_000);
});

test("after a reset the client enters again at random within resync_ms", () => {
  for (const random of [0, 0.25, 0.999]) {
    const follower = joinedFollower(farEntry(), () => random);
    receiveDocument(follower, publicDocument(), 1_000);
    receiveDocument(follower, publicDocument({ generation: 2, epoch: 1, now_ms: 2_000 }), 2_000);
    assertNext(follower, "enter", 2_000 + random * 20_000);
    receiveFailure(follower, "enter", unavailable(3_000), 30_000);
    assert.equal(follower.nextRequest.kind, "enter");
    assert.ok(follower.nextRequest.atMs >= 33_000);
    receiveEntry(follower, farEntry({ token: "u", position: 9_000 }), 40_000);
    assert.deepEqual([waiting(follower, 40_000).position, follower.token], [9_000, "u"]);
  }
});

test("a closed queue after a reset leaves no place", () => {
  const follower = joinedFollower();
  receiveDocument(follower, publicDocument(), 1_000);
  receiveDocument(follower, publicDocument({ generation: 2 }), 2_000);
  assert.equal(receiveFailure(follower, "enter", refusal(409, "queue-closed"), 20_000), true);
  assert.ok(follower.isOver);
  assert.equal(follower.stateAt(20_000).status, "failed");
});

test("Retry-After is a floor to which jitter under a doubling bound is added", () => {
  const delays = (random: number) => [0, 1, 2, 3, 9].map((failures) => backoffMs(2_000, failures, 12_000, random));
  assert.deepEqual(delays(0), [2_000, 2_000, 2_000, 2_000, 2_000]);
  assert.deepEqual(delays(0.5), [2_500, 3_000, 4_000, 6_000, 8_000]);
  assert.equal(backoffMs(0, 1, 12_000, 0.5), 1_000);
});

test("the jitter of a retry is at most a fifth of claim_seconds", () => {
  // retry_after_ms is at most two thirds of claim_seconds, so claim_seconds is at least 30 here, and a fifth of it 6 s.
  const follower = joinedFollower(bareEntry({ retry_after_ms: 20_000 }), () => 0.999_999);
  for (const [failures, bound] of [1_000, 2_000, 4_000, 6_000, 6_000].entries()) {
    const nowMs = 100_000 * (failures + 1);
    assert.equal(receiveFailure(follower, "status", unavailable(2_000), nowMs), true);
    // 70 % of the interval at least, so that the outage does not make the line ask more often than before.
    assertNextRounded(follower, "status", nowMs + 14_000 + bound);
  }
  assert.equal(follower.stateAt(0).problem !== null, true);
  receiveEntry(follower, bareEntry(), 600_000);
  assert.equal(follower.stateAt(600_000).problem === null, true);
  assertNext(follower, "status", 605_000);
});

test("a look that failed is repeated, and documents are read meanwhile", () => {
  const follower = joinedFollower(farEntry({ look_after_ms: 70_000 }));
  receiveDocument(follower, publicDocument({ rate: 1_000 }), 60_000);
  receiveFailure(follower, "status", refusal(429, "too-many-requests", 9_000), 70_000);
  assertNext(follower, "document", 63_000);
  receiveDocument(follower, publicDocument({ rate: 1_000, now_ms: 2_000 }), 78_000);
  // As the client knows of no more than 10 s to claim, it does not wait for the 9 s and its own random part.
  assertNext(follower, "status", 75_100);
});

test("a failed look of a far entry is repeated as late as the next one", () => {
  const follower = joinedFollower(farEntry({ look_after_ms: 70_000 }));
  receiveDocument(follower, publicDocument({ rate: 1 }), 60_000);
  receiveFailure(follower, "status", unavailable(9_000), 70_000);
  receiveFailure(follower, "document", refusal(503, "unavailable", 3_600_000), 70_000);
  assertNext(follower, "status", 140_000);
});

test("a failure that no retry can mend stops all requests", () => {
  for (const code of REFUSAL_CODES) {
    const follower = joinedFollower();
    assert.equal(receiveFailure(follower, "status", refusal(403, code), 1_000), true);
    assert.ok(follower.isOver);
    assert.equal(follower.stateAt(1_000).status, "failed");
  }
});

test("while a place is kept, foreign answers are retried with backoff", () => {
  const foreign = [401, 403, 404, 405, 410, 200, 302].map((status): Refusal => ({ status, body: {} }));
  for (const failure of [...foreign, refusal(403, "access-denied"), refusal(404, "unknown-route"), noAnswer()]) {
    for (const [entry, kind] of [
      [nearEntry(), "status"],
      [nearEntry({ state: "ready" }), "claim"],
    ] as const) {
      const follower = joinedFollower(entry);
      for (let n = 0; n < 50; n++) {
        const { kind: nextKind, atMs } = follower.nextRequest;
        assert.equal(nextKind, kind);
        assert.equal(receiveFailure(follower, kind, failure, atMs), true);
        assert.ok(follower.nextRequest.atMs > atMs && follower.nextRequest.atMs <= atMs + 12_000);
      }
      const lastMs = follower.nextRequest.atMs;
      receiveEntry(follower, nearEntry({ state: "active", pass: "p" }), lastMs);
      assert.equal(follower.stateAt(lastMs).problem, null);
    }
  }
});

test("a stored place is kept while foreign answers come", () => {
  const follower = new Follower(() => 0.5);
  joinAt(follower, 0, "t");
  assert.equal(receiveFailure(follower, "status", { status: 403, body: {} }, 0), true);
  assertNext(follower, "status", 500);
});

test("without a place only our refusals are final", () => {
  for (const [failure, isFinal] of [
    ...REFUSAL_CODES.map((code) => [refusal(409, code), true] as const),
    [{ status: 403, body: {} }, false],
    [{ status: 404, body: {} }, false],
    [refusal(401, "unauthorized"), false],
    // The address in the options is wrong.
    [refusal(404, "unknown-route"), true],
    [{ status: 200, body: {} }, false],
    [refusal(429, "too-many-requests"), false],
    [noAnswer(), false],
  ] as const) {
    const follower = new Follower(() => 0.5);
    joinAt(follower, 0);
    receiveFailure(follower, "enter", failure, 0);
    assert.equal(follower.isOver, isFinal, `${failure.status} ${failure.body.code}`);
    if (!isFinal) assertNext(follower, "enter", 500);
  }
});

test("a visitor keeps trying to enter a full queue, with backoff", () => {
  const follower = new Follower(() => 0.999_999);
  joinAt(follower, 0);
  const delays: number[] = [];
  for (let nowMs = 0; delays.length < 7; nowMs = Math.round(follower.nextRequest.atMs)) {
    assert.equal(receiveFailure(follower, "enter", refusal(503, "queue-full", 10_000), nowMs), true);
    assert.equal(follower.nextRequest.kind, "enter");
    assert.equal(follower.isOver, false);
    const { status, connection, problem } = follower.stateAt(nowMs);
    assert.deepEqual([status, connection, problem?.code], ["joining", "retrying", "queue-full"]);
    delays.push(Math.round(follower.nextRequest.atMs - nowMs) / 1_000);
  }
  assert.deepEqual(delays, [11, 12, 14, 18, 22, 22, 22]);
});

test("the end of a visit stops all requests", () => {
  const follower = joinedFollower(nearEntry({ state: "ready" }));
  const expired = refusal(410, "expired", undefined, { state: "expired", grace_in_ms: 600 });
  assert.equal(receiveFailure(follower, "claim", expired, 1_000), false);
  assert.ok(follower.isOver);
  assert.equal(follower.token, "");
  assert.equal(stateWith("expired", follower, 1_400).endsAtMs, 1_600);
});

test("a place that the server does not know is reported", () => {
  for (const code of ["unknown-entry", "token-owner-mismatch"]) {
    const follower = joinedFollower(nearEntry());
    assert.equal(receiveFailure(follower, "status", refusal(404, code), 1_000), true);
    assert.equal(stateWith("failed", follower, 0).problem.code, code);
    assert.deepEqual([follower.entry, follower.token], [null, ""]);
  }
});
