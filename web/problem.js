// The failures of requests, and the time until a retry.

// The server answers with these codes if the queue was reset, or if the record of an ended visit has expired.
const LOST_ENTRY_CODES = new Set(["unknown-entry", "token-owner-mismatch"]);

const BACKOFF_MS = 1_000;

/**
 * A request that the server did not carry out. It is an RFC 9457 problem with its stable `code`, or has
 * `code: "network"` if no answer came, or `code: "no-problem"` if the answer has a `status` and no problem.
 */
export class ProblemError extends Error {
  constructor({ status = 0, code, title, detail = "", ...more } = {}, retryAfterMs) {
    const [defaultCode, defaultTitle] =
      status === 0 ? ["network", "The server did not answer"] : ["no-problem", `The server answered ${status}`];
    super(detail || title || defaultTitle);
    this.name = "ProblemError";
    const problem = { status, code: code ?? defaultCode, title: title ?? defaultTitle, detail, more };
    Object.assign(this, problem, { retryAfterMs });
  }

  /** Whether a later retry may succeed. */
  get retryable() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }

  /** Whether the place no longer exists. */
  get endsPlace() {
    return this.status === 410 || LOST_ENTRY_CODES.has(this.code);
  }
}

/**
 * The milliseconds until the retry after a failure: Retry-After, if the answer has one, plus a random time up to 1 s,
 * 2 s, 4 s and so on, at most `boundMs` (exponential backoff with full jitter). The random time is added because the
 * server tells many clients the same second, and they must not come back in it together.
 */
export function backoffMs({ retryAfterMs = 0, failures, boundMs, random }) {
  return retryAfterMs + random() * Math.min(boundMs, BACKOFF_MS * 2 ** failures);
}
