// The end of a queue, and its deletion: what the visitor sees, and that no request and no stored place is left.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  activeEntry,
  assertNext,
  farEntry,
  joinAt,
  joinedFollower,
  nearEntry,
  publicDocument,
  receiveDocument,
  receiveEntry,
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

test("a visitor near the head learns the end by a poll", () => {
  for (const kind of ["status", "claim"] as const) {
    const follower = joinedFollower(nearEntry());
    receiveFailure(follower, kind, over({ state: "dismissed" }), 5_000);
    const { queue, problem } = stateWith("finished", follower, 5_000);
    assert.deepEqual([queue.message, queue.finishReason, problem], ["Sold out", "", null]);
    assert.deepEqual([follower.isOver, follower.token], [true, ""]);
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

test("a visitor far from the head learns the end by the document alone", () => {
  const follower = joinedFollower();
  receiveDocument(follower, publicDocument({ state: "finished", message: "Sold out", now_ms: 2_000 }), 5_000);
  assert.equal(stateWith("finished", follower, 5_000).queue.message, "Sold out");
  assert.deepEqual([follower.isOver, follower.token], [true, ""]);
});

test("a called visitor asks whether the turn came before the end", () => {
  const follower = joinedFollower(farEntry());
  const called = publicDocument({ state: "finished", now_ms: 2_000 }, { check_in_through: 140_000 });
  receiveDocument(follower, called, 5_000);
  stateWith("waiting", follower, 5_000);
  assertNext(follower, "status", 5_000);
  receiveEntry(follower, nearEntry({ state: "ready", queue_state: "finished", claim_in_ms: 9_000 }), 5_100);
  assertNext(follower, "claim", 5_100);
  receiveEntry(follower, activeEntry({ queue_state: "finished" }), 5_200);
  assert.equal(stateWith("active", follower, 5_200).pass, "p");
});

test("an older document of an open queue ends nothing, and neither does an answer", () => {
  const follower = joinedFollower();
  receiveDocument(follower, publicDocument({ now_ms: 9_000 }), 5_000);
  receiveDocument(follower, publicDocument({ state: "finished", now_ms: 8_000 }), 6_000);
  stateWith("waiting", follower, 6_000);
  // While the line is away, only the server's code ends the visit.
  receiveEntry(follower, nearEntry({ queue_state: "finished" }), 7_000);
  stateWith("waiting", follower, 7_000);
});

test("a visitor who enters, or has a stored place, enters no finished queue", () => {
  for (const token of ["", "old"]) {
    const follower = new Follower(() => 0.5);
    joinAt(follower, 0, token);
    receiveFailure(follower, token ? "status" : "enter", over(), 100);
    assert.equal(stateWith("finished", follower, 100).queue.message, "Sold out");
    assert.equal(follower.isOver, true);
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

test("a visitor of a deleted queue learns it by a poll, by entering and by the document", () => {
  const deleted = () => refusal(410, "queue-deleted", undefined, { min_epoch: 4 });
  for (const kind of ["status", "claim", "document"] as const) {
    const follower = joinedFollower(kind === "document" ? farEntry() : nearEntry());
    receiveFailure(follower, kind, deleted(), 5_000);
    const { problem } = stateWith("finished", follower, 5_000);
    assert.equal(problem, null);
    assert.deepEqual([follower.isOver, follower.token], [true, ""]);
    assert.equal(headlineText(ECHO, follower.stateAt(5_000)), "finished");
  }
  for (const kind of ["enter", "document"] as const) {
    const follower = new Follower(() => 0.5, true, "", kind === "document");
    joinAt(follower, 0);
    receiveFailure(follower, kind, deleted(), 100);
    stateWith("finished", follower, 100);
    assert.equal(follower.isOver, true);
  }
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
