// The end of a queue, and its deletion: what the visitor sees, and that no request and no stored place is left.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  activeEntry,
  farEntry,
  joinAt,
  joinedFollower,
  nearEntry,
  publicDocument,
  receiveDocument,
  receiveFailure,
  refusal,
  stateWith,
} from "./samples.js";
import { Follower } from "../src/follower.js";
import { headlineText } from "../src/texts.js";
import type { FinishReason } from "../src/wire.js";
import { Words } from "../src/words.js";
import { stateOf, useScene } from "./scene.js";

const scene = useScene();
// The sentence of a key is the key.
const ECHO = new Words({ finished: "finished", sold_out: "sold_out" });
const over = (more = {}) => refusal(410, "queue-finished", undefined, { message: "Sold out", ...more });

test("the end is told with the operator's message, and is no problem", () => {
  const near = joinedFollower(nearEntry());
  receiveFailure(near, "status", over({ state: "dismissed" }), 5_000);
  const far = joinedFollower();
  receiveDocument(far, publicDocument({ state: "finished", message: "Sold out", now_ms: 2_000 }), 5_000);
  const joining = new Follower(() => 0.5);
  joinAt(joining, 0);
  receiveFailure(joining, "enter", over(), 5_000);
  for (const follower of [near, far, joining]) {
    const { queue, problem } = stateWith("finished", follower, 5_000);
    assert.deepEqual([queue.message, queue.finishReason, problem, follower.token], ["Sold out", "", null, ""]);
    assert.equal(headlineText(ECHO, follower.stateAt(5_000)), "finished");
  }
});

test("the reason of the end is said if there are words for it, to those for whom it is the end", () => {
  // A later server may have other reasons.
  const rain = "rain" as FinishReason;
  for (const [reason, headline] of [["sold_out", "sold_out"], ["over", "finished"], [rain, "finished"]] as const) {
    const near = joinedFollower(nearEntry());
    receiveFailure(near, "status", over({ state: "dismissed", finish_reason: reason }), 5_000);
    const far = joinedFollower();
    receiveDocument(far, publicDocument({ state: "finished", finish_reason: reason, now_ms: 2_000 }), 5_000);
    for (const follower of [near, far]) {
      assert.equal(stateWith("finished", follower, 5_000).queue.finishReason, reason);
      assert.equal(headlineText(ECHO, follower.stateAt(5_000)), headline);
    }
    const inside = joinedFollower(activeEntry({ queue_state: "finished" }));
    receiveDocument(inside, publicDocument({ state: "finished", finish_reason: reason, now_ms: 2_000 }), 5_000);
    assert.equal(headlineText(new Words({ active: "in", sold_out: "x" }), inside.stateAt(5_000)), "in");
  }
});

test("after the end the client sends nothing, keeps nothing, and can leave", async () => {
  const stored = new Map<string, string>();
  const storage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
  };
  const place = await scene().joinWith(nearEntry({ retry_after_ms: 1_000 }), { storage });
  const key = [...stored.keys()].find((name) => name.startsWith("vestibule:place:"))!;
  assert.match(stored.get(key)!, /^t /);
  scene().answer = () => ({ status: 410, body: { code: "queue-finished", message: "Sold out" } });
  await scene().pass(2_000);
  assert.equal(stateOf("finished", place).queue.message, "Sold out");
  assert.equal(stored.get(key), "");
  const count = scene().requests.length;
  await scene().pass(120_000);
  await place.leave();
  assert.equal(scene().requests.length, count);
});

test("a visitor who leaves a finished queue has left", async () => {
  const place = await scene().joinWith(nearEntry({ retry_after_ms: 60_000 }));
  scene().answer = () => ({ status: 410, body: { code: "queue-finished" } });
  await place.leave();
  stateOf("left", place);
});

test("after a document that says so, the client sends no further request", async () => {
  const place = await scene().joinWith(farEntry());
  scene().answer = () => ({ status: 410, body: { code: "queue-deleted" } });
  await scene().pass(120_000);
  stateOf("finished", place);
  const count = scene().requests.length;
  await scene().pass(600_000);
  assert.equal(scene().requests.length, count);
});
