// Before and after the opening of a queue: the countdown, the spread of a draw, and the place that the client computes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertNext, bareEntry, farEntry, joinAt, joinedFollower, publicDocument, receiveDocument, receiveFailure, unavailable, waiting } from "./samples.js";
import { drawnOrder } from "../src/draw.js";
import { Follower } from "../src/follower.js";
import { settle, useScene, type FakeAnswer } from "./scene.js";

const scene = useScene();

const PHASE_OPEN = 2 ** 49;
const LANE_PLACES = 2 ** 50;
const scheduledEntry = (changes = {}) =>
  bareEntry({ position: undefined, queue_state: "scheduled", look_after_ms: 130_000, visit: 7_000, ...changes });
const scheduled = (leftMs: number, now_ms = 1_000) =>
  publicDocument({ state: "scheduled", lanes: {}, estimated_waits: [], rate: null, opens_at_ms: now_ms + leftMs, now_ms });
const opened = (check_in_through: number, changes = {}) =>
  publicDocument({ state: "open", now_ms: 200_000, ...changes }, { check_in_through, passed_through: 0 });

test("the client follows the document to the opening, and sends nothing of its own", () => {
  const follower = joinedFollower(scheduledEntry());
  assertNext(follower, "document", 3_000);
  receiveDocument(follower, scheduled(120_000), 3_000);
  assert.deepEqual([waiting(follower, 3_000).queue.state, waiting(follower, 3_000).queue.opensAtMs], ["scheduled", 123_000]);
  assert.deepEqual([waiting(follower, 3_000).position, waiting(follower, 3_000).isCalled], [null, false]);
  assertNext(follower, "document", 23_000);
  receiveDocument(follower, scheduled(6_000, 115_000), 117_000);
  assertNext(follower, "document", 120_000);
  receiveDocument(follower, opened(PHASE_OPEN + 6_999), 123_500);
  assert.ok(Number.isNaN(waiting(follower, 123_500).queue.opensAtMs));
  assert.equal(waiting(follower, 123_500).isCalled, false);
  // The server has spread the first request of each visitor behind the opening.
  assertNext(follower, "status", 130_000);
});

test("after the first answer with a place the next document comes soon", () => {
  for (const estimated_wait_seconds of [{ low: 0, high: 1 }, undefined]) {
    const follower = joinedFollower(scheduledEntry());
    receiveDocument(follower, scheduled(6_000, 115_000), 117_000);
    // The line has opened, and does not call the entry yet. The newest document is of before the opening.
    const answer = farEntry({ visit: 7_000, position: 1, place: 5_000, estimated_wait_seconds });
    follower.receive({ kind: "status", isOk: true, status: 200, body: { ...answer } }, 124_000);
    assertNext(follower, "document", 127_000);
  }
});

test("an entry that is called at the opening is asked at once", () => {
  for (const document of [
    opened(PHASE_OPEN + 7_000),
    opened(100, { drawn: 100 }),
    publicDocument({ now_ms: 200_000, lanes: { 3: { check_in_through: 3 * LANE_PLACES + 100, passed_through: 0, gone_ahead: 0 } }, drawn: 100 }),
  ]) {
    const follower = joinedFollower(scheduledEntry());
    receiveDocument(follower, document, 50_000);
    assert.equal(waiting(follower, 50_000).isCalled, true);
    assertNext(follower, "status", 50_000);
  }
  const follower = joinedFollower(scheduledEntry());
  receiveDocument(follower, opened(99, { drawn: 100 }), 50_000);
  assert.equal(waiting(follower, 50_000).isCalled, false);
});

test("before a draw the client enters at a random time of the spread", () => {
  const join = () => {
    const follower = new Follower(() => 0.5, true, "", true);
    joinAt(follower, 0);
    assertNext(follower, "document", 0);
    return follower;
  };
  const follower = join();
  receiveDocument(follower, { ...scheduled(120_000), enter_spread_ms: 60_000 }, 100);
  assertNext(follower, "enter", 30_100);
  assert.equal(follower.stateAt(100).queue.opensAtMs, 120_100);
  const late = join();
  receiveDocument(late, opened(1), 100);
  assertNext(late, "enter", 100);
  const failed = join();
  receiveFailure(failed, "document", unavailable(), 100);
  assertNext(failed, "enter", 100);
});

// Joins with `spread`, and returns what answers the request for the document.
async function joinWithSlowDocument(enter: FakeAnswer): Promise<(answer: FakeAnswer) => Promise<void>> {
  const answers: ((answer: FakeAnswer) => void)[] = [];
  scene().answer = ({ path }) => (path.includes("/entries") ? enter : new Promise((done) => answers.push(done)));
  scene().join({ spread: true });
  await settle();
  assert.deepEqual(scene().paths, ["GET /queues/q"]);
  return async (answer) => {
    answers[0]!(answer);
    await settle();
  };
}
const entered = () => scene().paths.filter((path) => path === "POST /queues/q/entries").length;

test("a document that hangs costs no place: the client enters after a second", async () => {
  await joinWithSlowDocument({ body: farEntry() });
  await scene().pass(999, 999);
  assert.equal(entered(), 0);
  await scene().pass(1);
  assert.equal(entered(), 1);
  await scene().pass(30_000);
  assert.equal(entered(), 1);
});

test("a document without a spread lets the client enter at once", async () => {
  const answerDocument = await joinWithSlowDocument({ body: farEntry() });
  await scene().pass(250);
  await answerDocument({ body: publicDocument() });
  assert.equal(entered(), 1);
});

test("a document with a spread that comes within a second counts", async () => {
  const answerDocument = await joinWithSlowDocument({ body: scheduledEntry() });
  await scene().pass(750);
  await answerDocument({ body: { ...scheduled(120_000), enter_spread_ms: 60_000 } });
  await scene().pass(29_750);
  assert.equal(entered(), 0);
  await scene().pass(250);
  assert.equal(entered(), 1);
});

test("a document that comes too late ends no backoff of entering", async () => {
  for (const late of [{ body: publicDocument() }, { status: 503 }]) {
    const answerDocument = await joinWithSlowDocument({ status: 503, headers: { "Retry-After": "60" } });
    await scene().pass(2_000);
    await answerDocument(late);
    await scene().pass(20_000);
    assert.equal(entered(), 1);
    scene().places[0]!.close();
    Object.assign(scene(), { requests: [], places: [] });
  }
});

test("the client computes the order that the server draws", async () => {
  // The same numbers are in shared/domain/src/draw.rs.
  assert.equal(await drawnOrder("07".repeat(32), "00112233-4455-8677-8899-aabbccddeeff"), 55_804_986_909_314);
});
