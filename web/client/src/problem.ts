// The failures of requests, and the time until a retry.

import { PAUSE_MS_MAX } from "./bounds.js";
import type { Problem } from "./wire.js";

/** With these codes the server says that the queue is over or gone. The visit has ended, and no visitor can enter. */
export const OVER_CODES: readonly string[] = ["queue-finished", "queue-deleted"];

/** With these codes the server says that the visit has ended, or that the place no longer exists. */
export const END_CODES: readonly string[] = [
  "completed",
  "left",
  "expired",
  "evicted",
  ...OVER_CODES,
  "unknown-entry",
  "token-owner-mismatch",
];

/** With these codes the server refuses a visitor, and no retry helps. */
export const REFUSAL_CODES: readonly string[] = [
  "unknown-queue",
  "queue-closed",
  "queue-draining",
  "visitor-required",
  "identity-missing",
  "ticket-required",
  "invalid-ticket",
  "blocked",
  "not-through-distribution",
  "invalid-field",
];

const BACKOFF_MS = 1_000;

/** The body of a refusal: a problem by RFC 9457, or anything else that a proxy answered. */
export type ProblemBody = Partial<Omit<Problem, "code" | "state">> & {
  readonly code?: string;
  readonly [name: string]: unknown;
};

/** What is known of a refusal. */
export interface Refusal {
  /** That of HTTP, or 0 if no answer came. */
  readonly status: number;
  readonly body: ProblemBody;
  /** The time that the server asks for, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** What was thrown in the place of an answer, also by a function of the options. */
  readonly cause?: unknown;
}

/**
 * A request that the server did not carry out. Its `code` is the stable code of a problem by RFC 9457, `network` if no
 * answer came, or `no-problem` if the answer is not from the API. `cause` is what was thrown in the place of an answer.
 */
export class ProblemError extends Error implements Refusal {
  declare readonly code: string;
  declare readonly status: number;
  declare readonly body: ProblemBody;
  declare readonly retryAfterMs: number | undefined;

  constructor({ status, body, retryAfterMs, cause }: Refusal) {
    super(body.detail || body.title || (status ? `HTTP ${status}` : "No answer of the API"), { cause });
    const code = body.code ?? (status ? "no-problem" : "network");
    Object.assign(this, { name: "ProblemError", code, status, body, retryAfterMs });
  }
}

/**
 * The milliseconds until the retry after a failure that `failures` others preceded: Retry-After, if the answer has one,
 * plus a random time up to 1 s, 2 s, 4 s and so on, at most `boundMs` (exponential backoff with full jitter). The
 * random time is added because the server tells many clients the same second, and they must not come back in it
 * together. Both are at most ten minutes, whatever a proxy answers.
 */
export function backoffMs(retryAfterMs: number, failures: number, boundMs: number, random: number): number {
  return Math.min(retryAfterMs, PAUSE_MS_MAX - boundMs) + random * Math.min(boundMs, BACKOFF_MS * 2 ** failures);
}
