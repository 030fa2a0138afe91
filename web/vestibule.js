// A client for one visitor's place in a Vestibule queue, for browsers. It joins the queue, polls at the pace that the
// server sets, claims the turn while the page is visible, and leaves. It has no dependencies and no build step.
//
//   const place = new Place({ queue: "demo:1" });
//   place.addEventListener("change", () => show(place.entry, place.position));
//   place.addEventListener("problem", (event) => show(event.detail));
//   await place.join();

// How long the server may hold a poll near the turn, in seconds. The server answers a held poll at once when the turn
// comes, but not when the position changes. A visible page therefore polls more often, to show new positions.
const HOLD_SECONDS = 20;
const HOLD_SECONDS_VISIBLE = 5;
// The timeout of a request, without the hold. With the longest hold, API Gateway has given up by then.
const ANSWER_TIMEOUT_MS = 10_000;
// The interval of polls if the server sets none.
const POLL_MS_DEFAULT = 2_000;
// The shortest interval of polls, whatever the server says.
const POLL_MS_MIN = 250;
// Exponential backoff after errors: a random time up to 1 s, 2 s, 4 s and so on, at most a fifth of claim_seconds, so
// that no error costs a turn. The server does not send claim_seconds. It is at least 10, and retry_after_ms is at most
// two thirds of it.
const BACKOFF_MS = 1_000;
const BACKOFF_MS_BOUND_MIN = 2_000;
const BACKOFF_MS_BOUND_MAX = 12_000;
const BACKOFF_SHARE_OF_INTERVAL = 0.3;

const VISITOR_KEY = "vestibule:visitor";
const ENDED_STATES = new Set(["completed", "left", "expired", "evicted"]);
// The server answers with these codes if the queue was reset, or if the record of an ended visit has expired.
const LOST_ENTRY_CODES = new Set(["unknown-entry", "token-owner-mismatch"]);

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
 * One visitor's place in one queue. When the turn comes, the client claims it as soon as the page is visible, so that
 * no session runs while the visitor does not see the page.
 *
 * Emits `change` after each answer with the state of the entry. Emits `problem`, with a `ProblemError` as its `detail`,
 * after a request that failed: the client retries a `retryable` one, and stops polling after any other.
 */
export class Place extends EventTarget {
  /**
   * The entry in the last answer of the server. It is `null` before joining, and when the server no longer has the
   * entry. When the visit ends, the entry stays, and its `state` is `completed`, `left`, `expired` or `evicted`. After
   * a missed turn it has `grace_until_ms`: a `join` before that time gets the old place back. While the entry is
   * `active`, `pass` is the pass for the protected service; polling renews it in time.
   */
  entry = null;
  /** The position to show, or `null` if the entry is not waiting. It never rises within a visit, even after a reload. */
  position = null;
  #queue;
  #base;
  #visitor;
  #clockOffsetMs = null;
  // The visit and the lowest position in it so far, as text.
  #lowestPosition;
  // The number of the current polling loop. A loop with another number ends.
  #loop = 0;

  /** `queue` is the id of the queue. `base` is the part of the API's address before `/queues`, such as `/Prod`. */
  constructor({ queue, base = "" }) {
    super();
    this.#queue = queue;
    this.#base = `${base}/queues/${encodeURIComponent(queue)}`;
    // The client generates the visitor id, so that a retry of the first enter is safe. If the page's origin is not
    // secure, randomUUID does not exist and the server generates the id.
    this.#visitor = readStorage("localStorage", VISITOR_KEY) || crypto.randomUUID?.();
    if (this.#visitor) writeStorage("localStorage", VISITOR_KEY, this.#visitor);
    this.#lowestPosition = readStorage("sessionStorage", this.#positionKey) ?? "";
  }

  /**
   * Enters the queue, or continues with the place that this browser already has, and starts polling. Retries while a
   * retry may succeed. Throws any other `ProblemError`.
   */
  async join() {
    const loop = ++this.#loop;
    for (let failures = 0; ; failures++) {
      try {
        const entry = await this.#findOrEnter();
        if (loop !== this.#loop) return;
        this.#setEntry(entry);
        this.#pollUntilEnd(loop);
        return;
      } catch (problem) {
        if (loop !== this.#loop) return;
        this.#emitProblem(problem);
        if (!problem.retryable) throw problem;
        await this.#sleep(backoffMs(failures, problem));
        if (loop !== this.#loop) return;
      }
    }
  }

  /**
   * Gives up the place. A waiting or ready entry leaves the line; an active entry completes its visit. If this throws,
   * the visitor keeps the place and polling goes on.
   */
  async leave() {
    const { entry } = this;
    if (!entry || ENDED_STATES.has(entry.state)) return this.stop();
    try {
      await this.#request("DELETE", `/entries/${entry.token}?visit=${entry.visit}`);
    } catch (problem) {
      if (!problem.endsPlace) throw problem;
    }
    this.stop();
    this.#endEntry(entry.state === "active" ? "completed" : "left");
  }

  /** Stops polling and claiming. The server keeps the place for a while; `join` continues with it. */
  stop() {
    this.#loop++;
  }

  /** Fetches the public information about the queue: how many entries wait, the message, whether it is paused. */
  fetchPublicDocument() {
    return this.#request("GET", "");
  }

  /**
   * Milliseconds until a time of the server's clock, such as `entry.expires_at_ms`. The result is precise to half a
   * second. If the API has another origin and does not expose `Date`, it is only as precise as the visitor's clock.
   */
  msUntil(serverMs) {
    return serverMs - (Date.now() + (this.#clockOffsetMs ?? 0));
  }

  async #findOrEnter() {
    const token = readStorage("sessionStorage", this.#tokenKey);
    if (token) {
      try {
        return await this.#request("GET", `/entries/${token}`);
      } catch (problem) {
        if (!problem.endsPlace) throw problem;
        // The old visit has ended, so the client enters again.
        this.#clearStorage();
      }
    }
    return this.#request("POST", "/entries", {});
  }

  async #pollUntilEnd(loop) {
    let failures = 0;
    let claimRefused = false;
    let pauseMs = this.#pauseMs();
    for (;;) {
      await this.#sleep(pauseMs, failures === 0);
      if (loop !== this.#loop) return;
      try {
        const entry = await this.#claimOrPoll(claimRefused);
        if (loop !== this.#loop) return;
        failures = 0;
        claimRefused = false;
        this.#setEntry(entry);
        pauseMs = this.#pauseMs();
      } catch (problem) {
        if (loop !== this.#loop) return;
        if (problem.endsPlace) return this.#handleEnd(problem);
        // A claim was refused, so the entry is no longer ready. The next status request shows its state.
        claimRefused = problem.status === 409;
        if (!claimRefused) {
          this.#emitProblem(problem);
          if (!problem.retryable) return;
        }
        pauseMs = claimRefused
          ? (problem.retryAfterMs ?? POLL_MS_DEFAULT)
          : backoffMs(failures++, problem, this.entry.retry_after_ms);
      }
    }
  }

  #claimOrPoll(claimRefused) {
    const { state, token } = this.entry;
    if (state === "ready" && isVisible() && !claimRefused) return this.#request("POST", `/entries/${token}/claim`, {});
    const holdSeconds = isVisible() ? HOLD_SECONDS_VISIBLE : HOLD_SECONDS;
    return this.#request("GET", `/entries/${token}`, undefined, state === "waiting" ? holdSeconds : 0);
  }

  #pauseMs() {
    const { state, retry_after_ms: intervalMs = POLL_MS_DEFAULT } = this.entry;
    return state === "ready" && isVisible() ? 0 : Math.max(POLL_MS_MIN, intervalMs);
  }

  #setEntry(entry) {
    this.position = entry?.state === "waiting" ? this.#boundPosition(entry) : null;
    this.entry = entry;
    if (entry?.visitor) {
      this.#visitor = entry.visitor;
      writeStorage("localStorage", VISITOR_KEY, entry.visitor);
    }
    if (entry && !ENDED_STATES.has(entry.state)) writeStorage("sessionStorage", this.#tokenKey, entry.token);
    this.dispatchEvent(new Event("change"));
  }

  // Returns the position of the answer, or the lowest one of this visit if that is lower.
  #boundPosition({ token, visit, position = null }) {
    // A degraded answer, from the backup, has no position.
    if (position === null) return null;
    const prefix = `${token} ${visit} `;
    const lowest = this.#lowestPosition.startsWith(prefix)
      ? Math.min(position, Number(this.#lowestPosition.slice(prefix.length)))
      : position;
    this.#lowestPosition = prefix + lowest;
    writeStorage("sessionStorage", this.#positionKey, this.#lowestPosition);
    return lowest;
  }

  #handleEnd(problem) {
    if (problem.status === 410) return this.#endEntry(problem.more.state ?? "expired", problem.more.grace_until_ms);
    this.#clearStorage();
    this.#setEntry(null);
    this.#emitProblem(problem);
  }

  #endEntry(state, graceUntilMs) {
    this.#clearStorage();
    this.#setEntry({ ...this.entry, state, pass: undefined, grace_until_ms: graceUntilMs });
  }

  #emitProblem(problem) {
    this.dispatchEvent(new CustomEvent("problem", { detail: problem }));
  }

  #clearStorage() {
    this.#lowestPosition = "";
    writeStorage("sessionStorage", this.#positionKey, "");
    writeStorage("sessionStorage", this.#tokenKey, "");
  }

  get #tokenKey() {
    return `vestibule:token:${this.#queue}`;
  }

  get #positionKey() {
    return `vestibule:position:${this.#queue}`;
  }

  async #request(method, path, body, holdSeconds = 0) {
    const headers = { Accept: "application/json" };
    if (this.#visitor) headers["X-Visitor-Id"] = this.#visitor;
    if (method !== "GET") headers["Content-Type"] = "application/json";
    let response;
    let answer = null;
    try {
      response = await fetch(this.#base + path + (holdSeconds > 0 ? `?wait=${holdSeconds}` : ""), {
        method,
        headers,
        body: body && JSON.stringify(body),
        signal: AbortSignal.timeout(holdSeconds * 1_000 + ANSWER_TIMEOUT_MS),
      });
      if (response.status !== 204) answer = await response.json();
    } catch {
      // There is no answer, or one that is not from the API. A proxy may have sent it, and may say when to retry.
      throw new ProblemError({ status: response?.ok ? 0 : response?.status }, retryAfterMs(response));
    }
    // The public document may come from a cache, with an old Date.
    if (path !== "") this.#setClock(Date.parse(response.headers.get("Date") ?? ""));
    if (response.ok) return answer;
    throw new ProblemError({ ...answer, status: response.status }, retryAfterMs(response));
  }

  // Date has whole seconds, so the offset is known to a second. The estimate moves only if it is outside that second.
  #setClock(serverMs) {
    if (Number.isNaN(serverMs)) return;
    const offsetMinMs = serverMs - Date.now();
    const estimateMs = this.#clockOffsetMs ?? offsetMinMs + 500;
    this.#clockOffsetMs = Math.min(offsetMinMs + 1_000, Math.max(offsetMinMs, estimateMs));
  }

  // Completes after a time. When the page becomes visible, it completes early in two cases: if the time has passed (the
  // timers of a phone that slept did not run), and, with `wakeToClaim`, if a turn can be claimed.
  #sleep(ms, wakeToClaim = false) {
    return new Promise((done) => {
      const dueMs = Date.now() + ms;
      const end = () => {
        clearTimeout(timer);
        document.removeEventListener("visibilitychange", endIfVisible);
        done();
      };
      const endIfVisible = () => {
        if (isVisible() && (Date.now() >= dueMs || (wakeToClaim && this.entry?.state === "ready"))) end();
      };
      const timer = setTimeout(end, ms);
      document.addEventListener("visibilitychange", endIfVisible);
    });
  }
}

function isVisible() {
  return document.visibilityState === "visible";
}

function backoffMs(failures, problem, intervalMs = Infinity) {
  const bound = Math.min(BACKOFF_MS_BOUND_MAX, Math.max(BACKOFF_MS_BOUND_MIN, BACKOFF_SHARE_OF_INTERVAL * intervalMs));
  return problem.retryAfterMs ?? Math.random() * Math.min(bound, BACKOFF_MS * 2 ** failures);
}

// Reads whole seconds. A proxy may send a date instead. The client ignores it, because it could compare a date only
// with the visitor's clock.
function retryAfterMs(response) {
  const seconds = Number(response?.headers.get("Retry-After") ?? Number.NaN);
  return seconds > 0 ? seconds * 1_000 : undefined;
}

// Storage may be full or forbidden, and even reading its name may throw. The place then lasts as long as the page is
// open.
function readStorage(storage, key) {
  try {
    return globalThis[storage].getItem(key);
  } catch {
    return null;
  }
}

function writeStorage(storage, key, value) {
  try {
    globalThis[storage].setItem(key, value);
  } catch {
    // The page works without storage, see above.
  }
}
