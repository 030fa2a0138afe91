// Answers of the server and followers in a known state, for the tests.

import assert from "node:assert/strict";

import { Follower } from "../follower.js";
import { ProblemError } from "../problem.js";

export const LANE = { promoted_through: 90_000, check_in_through: 100_000, passed_through: 90_000, gone_ahead: 1_000 };

// An answer about an entry far from the head: 4,000 entries are ahead, and the line serves 10 per second.
export function farEntry(changes = {}) {
  const entry = { queue: "q", token: "t", visit: 1, state: "waiting", position: 4_000, retry_after_ms: 5_000 };
  const range = { low: 300, high: 500 };
  const far = { place: 130_000, lane: 0, gone_ahead: 1_000, look_after_ms: 600_000, queue_state: "open" };
  return { ...entry, estimated_wait_seconds: range, ...far, ...changes };
}

export function nearEntry(changes = {}) {
  return farEntry({ look_after_ms: undefined, ...changes });
}

// An answer of a server that knows nothing of the public document.
export function olderEntry(changes = {}) {
  return { token: "t", visit: 1, state: "waiting", position: 40, retry_after_ms: 5_000, ...changes };
}

export function publicDocument(changes = {}, lane = {}) {
  const order = { generation: 1, epoch: 1, now_ms: 1_000 };
  const intervals = { refresh_near_ms: 3_000, refresh_far_ms: 60_000, resync_ms: 20_000 };
  return { queue: "q", state: "open", ...order, ...intervals, rate: 10, lanes: { 0: { ...LANE, ...lane } }, ...changes };
}

// With 0.5, no jitter changes an interval, and a random time is half of its bound.
export function joinedFollower(entry = farEntry(), random = () => 0.5) {
  const follower = new Follower({ random });
  follower.join("", 0);
  follower.receiveEntry(entry, 0);
  return follower;
}

export const unavailable = (retryAfterMs) => new ProblemError({ status: 503, code: "unavailable" }, retryAfterMs);
export const noAnswer = () => new ProblemError();

export function assertNext(follower, kind, atMs) {
  const { kind: foundKind, atMs: foundAtMs } = follower.nextRequest;
  assert.deepEqual({ kind: foundKind, atMs: foundAtMs }, { kind, atMs });
}
