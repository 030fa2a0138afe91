// The requests of a visitor to the API of one queue.

import { ProblemError } from "./problem.js";

// The timeout of a request, without the hold. With the longest hold, API Gateway has given up by then.
const ANSWER_TIMEOUT_MS = 10_000;

/** Sends requests. Each returns the answer, or throws a ProblemError. */
export class QueueApi {
  #base;
  // The server's clock less the own monotonic clock.
  #clockOffsetMs = null;

  /** `base` is the part of the API's address before `/queues`. */
  constructor(queue, base) {
    this.#base = `${base}/queues/${encodeURIComponent(queue)}`;
  }

  /**
   * Fetches the public document. The request has no header and no credentials, so that any cache may answer it, and a
   * browser sends no preflight to another origin.
   */
  fetchDocument() {
    return this.#fetchJson(this.#base, { credentials: "omit", signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
  }

  /** Sends a request of the follower about the entry, as this visitor. */
  sendEntryRequest({ kind, token, holdSeconds }, visitor) {
    if (kind === "enter") return this.#sendAsVisitor(visitor, "POST", "/entries");
    if (kind === "claim") return this.#sendAsVisitor(visitor, "POST", `/entries/${token}/claim`);
    return this.#sendAsVisitor(visitor, "GET", `/entries/${token}`, holdSeconds);
  }

  /** Leaves the queue, or completes the visit. */
  leave({ token, visit }, visitor) {
    return this.#sendAsVisitor(visitor, "DELETE", `/entries/${token}?visit=${visit}`);
  }

  /**
   * Milliseconds until a time of the server's clock. If the API has another origin and does not expose `Date`, this
   * trusts the visitor's clock.
   */
  msUntil(serverMs) {
    return serverMs - (this.#clockOffsetMs === null ? Date.now() : performance.now() + this.#clockOffsetMs);
  }

  #sendAsVisitor(visitor, method, path, holdSeconds = 0) {
    const headers = { Accept: "application/json" };
    if (visitor) headers["X-Visitor-Id"] = visitor;
    if (method !== "GET") headers["Content-Type"] = "application/json";
    const body = method === "POST" ? "{}" : undefined;
    const signal = AbortSignal.timeout(holdSeconds * 1_000 + ANSWER_TIMEOUT_MS);
    const address = this.#base + path + (holdSeconds > 0 ? `?wait=${holdSeconds}` : "");
    // The public document may come from a cache, with an old Date. This answer does not.
    return this.#fetchJson(address, { method, headers, body, signal }, (response) => this.#setClock(response));
  }

  async #fetchJson(address, options, onAnswer = () => {}) {
    let response;
    let answer = null;
    try {
      response = await fetch(address, options);
      if (response.status !== 204) answer = await response.json();
    } catch {
      // There is no answer, or one that is not from the API. A proxy may have sent it, and may say when to retry.
      throw new ProblemError({ status: response?.ok ? 0 : response?.status }, retryAfterMs(response));
    }
    onAnswer(response);
    if (response.ok) return answer;
    throw new ProblemError({ ...answer, status: response.status }, retryAfterMs(response));
  }

  // Date has whole seconds, so the offset is known to a second. The estimate moves only if it is outside that second.
  #setClock(response) {
    const serverMs = Date.parse(response.headers.get("Date") ?? "");
    if (Number.isNaN(serverMs)) return;
    const offsetMinMs = serverMs - performance.now();
    const estimateMs = this.#clockOffsetMs ?? offsetMinMs + 500;
    this.#clockOffsetMs = Math.min(offsetMinMs + 1_000, Math.max(offsetMinMs, estimateMs));
  }
}

// Reads whole seconds. A proxy may send a date instead. The client ignores it, because it could compare a date only
// with the visitor's clock.
function retryAfterMs(response) {
  const seconds = Number(response?.headers.get("Retry-After") ?? Number.NaN);
  return seconds > 0 ? seconds * 1_000 : undefined;
}
