// What an answer about the entry tells the client about its next request. The functions are pure.

import type { EntryAnswer } from "./answers.js";
import { PAUSE_MS_MAX, PAUSE_MS_MIN, POLL_MS_DEFAULT, TIMER_MS_MAX, within } from "./bounds.js";

/** An entry that waits far from the head, with what it takes to follow the public document. */
export type FarEntry = EntryAnswer & Required<Pick<EntryAnswer, "place" | "lane">> & { readonly look_after_ms: number };

// How long the server may hold a poll near the turn, in seconds. The server answers a held poll at once when the turn
// comes, but not when the position changes. A visible page therefore polls more often, to show new positions.
const HOLD_SECONDS = 20;
const HOLD_SECONDS_VISIBLE = 5;
// The bound of the random part of the backoff is a fifth of claim_seconds, so that no error costs a turn. The server
// does not send claim_seconds. It is at least 10, and retry_after_ms is at most two thirds of it.
const BACKOFF_MS_BOUND_MIN = 2_000;
const BACKOFF_MS_BOUND_MAX = 12_000;
const BACKOFF_SHARE_OF_INTERVAL = 0.3;
const USUAL_SHARE = 0.7;
// The same share of two thirds of the shortest claim_seconds.
const CLAIM_PAUSE_MS_MIN = 4_600;

/** Whether the last answer about the entry came before the opening, so that it has no place. */
export function isBeforeOpening(entry: EntryAnswer | null): boolean {
  return entry?.queue_state === "scheduled" && entry.place === undefined;
}

/** Whether the entry waits far from the head or before the opening, so that the client follows the public document. */
export function isFarFromHead(entry: EntryAnswer | null): entry is FarEntry {
  const { state, place, lane, look_after_ms: lookAfterMs } = entry ?? {};
  const order = isBeforeOpening(entry) ? [] : [place, lane];
  return state === "waiting" && [lookAfterMs, ...order].every(Number.isFinite);
}

/** The interval in milliseconds after which a client that does not follow the document asks again. */
export function pollMs({ retry_after_ms: intervalMs }: EntryAnswer): number {
  return within(intervalMs, POLL_MS_DEFAULT, PAUSE_MS_MAX, PAUSE_MS_MIN);
}

/** How long the server may hold a poll, in seconds. Only the poll of an entry that waits can be held. */
export function pollHoldSeconds(entry: EntryAnswer, isVisible: boolean): number {
  if (entry.state !== "waiting") return 0;
  return isVisible ? HOLD_SECONDS_VISIBLE : HOLD_SECONDS;
}

/** The bound in milliseconds of the random part of the backoff after a failed request about the entry. */
export function backoffBoundMs(entry: EntryAnswer | null): number {
  const shareMs = entry && BACKOFF_SHARE_OF_INTERVAL * pollMs(entry);
  return within(shareMs, BACKOFF_MS_BOUND_MAX, BACKOFF_MS_BOUND_MAX, BACKOFF_MS_BOUND_MIN);
}

/**
 * The time in milliseconds until the client repeats a request about the entry that failed, without the random part. An
 * outage must not make the line ask more often than before, so it is at least 70 % of the last interval. In line it is at
 * most 70 % of two thirds of claim_seconds, as far as the client knows them: together with the random part it costs no
 * turn, whatever Retry-After a proxy has sent.
 */
export function failedPauseMs(entry: EntryAnswer | null, retryAfterMs = 0): number {
  const usualMs = { waiting: entry && USUAL_SHARE * pollMs(entry), ready: 0 }[entry?.state as "ready"];
  return usualMs == null ? retryAfterMs : Math.max(usualMs, Math.min(retryAfterMs, CLAIM_PAUSE_MS_MIN));
}

/**
 * The milliseconds from the answer to the end of its state: to claim, until the session ends, or in which the place of
 * a missed turn is kept. `NaN` if the state has no end.
 */
export function stateLeftMs(entry: EntryAnswer | null): number {
  const { state = "", claim_in_ms: ready, expires_in_ms: active, grace_in_ms: expired } = entry ?? {};
  return within({ ready, active, expired }[state as string], NaN, TIMER_MS_MAX);
}
