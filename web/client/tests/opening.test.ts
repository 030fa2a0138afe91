// Before the opening of a queue that draws: the document with the spread is asked for, and not waited for.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bareEntry, farEntry, publicDocument } from "./samples.js";
import { settle, useScene, type FakeAnswer } from "./scene.js";

const scene = useScene();

const SCHEDULED_ENTRY = bareEntry({ position: undefined, queue_state: "scheduled", look_after_ms: 130_000 });
const SPREADING = publicDocument({ state: "scheduled", lanes: {}, opens_at_ms: 121_000, enter_spread_ms: 60_000 });

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
  const answerDocument = await joinWithSlowDocument({ body: SCHEDULED_ENTRY });
  await scene().pass(750);
  await answerDocument({ body: SPREADING });
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
