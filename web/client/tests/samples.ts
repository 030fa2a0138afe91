// Answers of the server and followers in a known state, for the tests.

import assert from "node:assert/strict";

import type { EntryAnswer, LaneDocument, PublicDocument } from "../src/answers.js";
import { Follower } from "../src/follower.js";
import type { ProblemBody, Refusal } from "../src/problem.js";
import type { RequestKind } from "../src/request.js";
import type { PlaceState } from "../src/types.js";

const LANE: LaneDocument = { check_in_through: 100_000, passed_through: 90_000, gone_ahead: 1_000 };

/** An answer about an entry far from the head: 4,000 entries are ahead, and the line serves 10 per second. */
export function farEntry(changes: Partial<EntryAnswer> = {}): EntryAnswer {
  const entry = { token: "t", visit: 1, state: "waiting" as const, position: 4_000, retry_after_ms: 5_000 };
  const range = { low: 300, high: 500 };
  const far = { place: 130_000, lane: 0, gone_ahead: 1_000, look_after_ms: 600_000, queue_state: "open" as const };
  return { ...entry, estimated_wait_seconds: range, ...far, ...changes };
}

export function nearEntry(changes: Partial<EntryAnswer> = {}): EntryAnswer {
  return farEntry({ look_after_ms: undefined, ...changes });
}

/** An answer with nothing but what every answer has. */
export function bareEntry(changes: Partial<EntryAnswer> = {}): EntryAnswer {
  return { token: "t", visit: 1, state: "waiting", position: 40, retry_after_ms: 5_000, ...changes };
}

/** The line serves `rate` entries per second, or stands still. */
export function publicDocument(
  { rate = 10, ...changes }: Partial<PublicDocument> = {},
  lane: Partial<LaneDocument> = {},
): PublicDocument {
  const order = { generation: 1, epoch: 1, now_ms: 1_000 };
  const intervals = { refresh_near_ms: 3_000, refresh_far_ms: 60_000, resync_ms: 20_000 };
  const seconds = 1_000_000 / (rate ?? 1);
  const estimated_waits = rate === null ? [] : [{ position: 1_000_000, low: seconds, high: seconds }];
  return {
    state: "open",
    ...order,
    ...intervals,
    rate,
    estimated_waits,
    lanes: { 0: { ...LANE, ...lane } },
    ...changes,
  };
}

/** With 0.5, no jitter changes an interval, and a random time is half of its bound. */
export function joinedFollower(entry = farEntry(), random = () => 0.5): Follower {
  const follower = new Follower(random);
  joinAt(follower, 0);
  receiveEntry(follower, entry, 0);
  return follower;
}

/** Joins with a stored token, or without one. */
export function joinAt(follower: Follower, nowMs: number, token = "", lowest = follower.lowest): void {
  follower.join({ token, lowest }, nowMs);
  follower.attendance.changeVisibility(true, nowMs);
  follower.attendance.addInput(nowMs);
}

export function receiveEntry(follower: Follower, entry: EntryAnswer, nowMs: number): void {
  follower.receive({ kind: "status", isOk: true, status: 200, body: { ...entry } }, nowMs);
}

export function receiveDocument(follower: Follower, document: PublicDocument, nowMs: number): void {
  follower.receive({ kind: "document", isOk: true, status: 200, body: { ...document } }, nowMs);
}

/** Fails a request, and returns whether the visitor is told. */
export function receiveFailure(follower: Follower, kind: RequestKind, refusal: Refusal, nowMs: number): boolean {
  const before = follower.stateAt(nowMs).problem;
  follower.receive({ kind, isOk: false, ...refusal }, nowMs);
  const { problem } = follower.stateAt(nowMs);
  return problem !== null && problem !== before;
}

export function refusal(status: number, code: string, retryAfterMs?: number, more: ProblemBody = {}): Refusal {
  return { status, body: { code, ...more }, retryAfterMs };
}

export const unavailable = (retryAfterMs?: number): Refusal => refusal(503, "unavailable", retryAfterMs);
export const noAnswer = (): Refusal => ({ status: 0, body: {} });

export function assertNext(follower: Follower, kind: RequestKind, atMs: number): void {
  const { kind: foundKind, atMs: foundAtMs } = follower.nextRequest;
  assert.deepEqual({ kind: foundKind, atMs: foundAtMs }, { kind, atMs });
}

/** The answer about a visitor whose turn has come. */
export function readyEntry(changes?: Partial<EntryAnswer>): EntryAnswer {
  return nearEntry({ state: "ready", retry_after_ms: 1_000, claim_in_ms: 30_000, ...changes });
}

/** The answer about an admitted visitor. */
export function activeEntry(changes?: Partial<EntryAnswer>): EntryAnswer {
  return nearEntry({ state: "active", pass: "p", retry_after_ms: 90_000, expires_in_ms: 60_000, ...changes });
}

/** The state, which must have this status. */
export function stateWith<S extends PlaceState["status"]>(
  status: S,
  follower: Follower,
  nowMs: number,
): Extract<PlaceState, { status: S }> {
  const state = follower.stateAt(nowMs);
  assert.equal(state.status, status);
  return state as Extract<PlaceState, { status: S }>;
}

export const waiting = (follower: Follower, nowMs: number) => stateWith("waiting", follower, nowMs);
