// A place in a Vestibule queue, for browsers: joins, polls at the pace that the server tells, claims by itself while
// the page is visible, and leaves. No dependencies, no build step.
//
//   const place = new Place({ queue: "demo:1" });
//   place.addEventListener("change", () => show(place.entry, place.position));
//   place.addEventListener("trouble", (event) => show(event.detail));
//   await place.join();

const HOLD_SECONDS = 20;
// API Gateway gives up at 29 s: whatever takes longer is lost.
const REQUEST_MS = 30_000;
// Full jitter between 0 and at most this: a fifth of the default claim_seconds, so that errors never cost a turn.
const BACKOFF_MS_MAX = 12_000;
// An active entry is looked at so often, to notice its end and to renew its pass.
const ACTIVE_POLL_MS = 5_000;
// Whatever the server says, never faster.
const POLL_MS_MIN = 250;

const GONE = new Set(["completed", "left", "expired"]);

/** Why the server did not do what was asked: an RFC 9457 problem, or `code: "network"`. */
export class Trouble extends Error {
  constructor({ status = 0, code = "network", title = "The server cannot be reached", detail = "", ...more }, retryAfterMs) {
    super(detail || title);
    Object.assign(this, { status, code, title, detail, more, retryAfterMs });
  }

  /** Whether asking again later may help. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** One visitor's place in one queue. Emits `change` and `trouble`. */
export class Place extends EventTarget {
  /** The entry as the server last described it; `null` before joining and after leaving. */
  entry = null;
  /** The position to show: within a visit it only ever falls. `null` when not waiting. */
  position = null;
  #queue;
  #base;
  #visitor;
  #clockOffsetMs = 0;
  #run = 0;
  #wake = () => {};

  constructor({ queue, base = "" }) {
    super();
    this.#queue = queue;
    this.#base = `${base}/queues/${encodeURIComponent(queue)}`;
    this.#visitor = remembered(localStorage, "vestibule:visitor", () => crypto.randomUUID());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.#wake());
  }

  /** Takes a place, or takes up the one that this browser holds already, and follows it. */
  async join() {
    const run = ++this.#run;
    for (let failures = 0; run === this.#run; failures++) {
      try {
        this.#take(await this.#found());
        this.#follow(run);
        return;
      } catch (trouble) {
        this.#tell(trouble);
        if (!trouble.passing) throw trouble;
        await this.#sleep(backoff(failures, trouble));
      }
    }
  }

  /** Gives the place up: in line it goes to the next one, after being let in the visit is complete. */
  async leave() {
    const entry = this.entry;
    this.#run++;
    this.#wake();
    if (entry?.token && !GONE.has(entry.state)) {
      await this.#ask("DELETE", `/entries/${entry.token}`);
    }
    this.#forget();
    this.#take(null);
  }

  /** What everybody may know of the queue: how many wait, the message, whether it is paused. */
  view() {
    return this.#ask("GET", "");
  }

  /** Milliseconds until a time of the server's clock. */
  msUntil(serverMs) {
    return serverMs - (Date.now() + this.#clockOffsetMs);
  }

  async #found() {
    const token = sessionStorage.getItem(this.#tokenKey);
    if (token) {
      try {
        return await this.#ask("GET", `/entries/${token}`);
      } catch (trouble) {
        // The old visit is over, or the queue was reset: a new one begins.
        if (trouble.status !== 404 && trouble.status !== 410 && trouble.status !== 403) throw trouble;
        this.#forget();
      }
    }
    return this.#ask("POST", "/entries", {});
  }

  async #follow(run) {
    let failures = 0;
    while (run === this.#run && this.entry && !GONE.has(this.entry.state)) {
      try {
        await this.#sleep(failures === 0 ? this.#pauseMs() : 0);
        if (run !== this.#run) return;
        const { state, token } = this.entry;
        const answer =
          state === "ready" && document.visibilityState === "visible"
            ? await this.#ask("POST", `/entries/${token}/claim`, {})
            : await this.#ask("GET", `/entries/${token}${state === "waiting" ? `?wait=${HOLD_SECONDS}` : ""}`);
        if (run !== this.#run) return;
        failures = 0;
        this.#take(answer);
      } catch (trouble) {
        if (run !== this.#run) return;
        if (trouble.status === 410 || trouble.status === 404) return this.#end(trouble);
        this.#tell(trouble);
        if (!trouble.passing && trouble.status !== 409) return;
        await this.#sleep(backoff(failures++, trouble));
      }
    }
  }

  #pauseMs() {
    const { state, retry_after_ms: told } = this.entry;
    if (state === "ready" && document.visibilityState === "visible") return 0;
    const ms = told ?? (state === "active" ? ACTIVE_POLL_MS : 1_000);
    // Near the end of a session it is looked at in time.
    const untilEnd = state === "active" ? this.msUntil(this.entry.expires_at_ms) + 500 : Infinity;
    return Math.max(POLL_MS_MIN, Math.min(ms, untilEnd));
  }

  #end(trouble) {
    this.#forget();
    this.#take({ ...this.entry, state: trouble.more.state ?? "expired", grace_until_ms: trouble.more.grace_until_ms });
  }

  #take(entry) {
    const sameVisit = entry && this.entry?.visit === entry.visit && this.entry?.token === entry.token;
    this.position =
      entry?.state !== "waiting" || entry.position == null
        ? null
        : sameVisit && this.position != null
          ? Math.min(this.position, entry.position)
          : entry.position;
    this.entry = entry;
    if (entry?.visitor) {
      this.#visitor = entry.visitor;
      keep(localStorage, "vestibule:visitor", entry.visitor);
    }
    if (entry?.token && !GONE.has(entry.state)) keep(sessionStorage, this.#tokenKey, entry.token);
    this.dispatchEvent(new Event("change"));
  }

  #tell(trouble) {
    this.dispatchEvent(new CustomEvent("trouble", { detail: trouble }));
  }

  #forget() {
    sessionStorage.removeItem(this.#tokenKey);
  }

  get #tokenKey() {
    return `vestibule:token:${this.#queue}`;
  }

  async #ask(method, path, body) {
    const headers = { Accept: "application/json", "X-Visitor-Id": this.#visitor };
    if (method !== "GET") headers["Content-Type"] = "application/json";
    let response, answer;
    try {
      response = await fetch(this.#base + path, {
        method,
        headers,
        body: body && JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_MS),
      });
      answer = response.status === 204 ? null : await response.json();
    } catch {
      throw new Trouble({ status: response?.status >= 500 ? response.status : 0 });
    }
    const date = Date.parse(response.headers.get("Date") ?? "");
    // The header tells whole seconds; half of one is its mean error.
    if (!Number.isNaN(date)) this.#clockOffsetMs = date + 500 - Date.now();
    if (response.ok) return answer;
    const seconds = Number.parseFloat(response.headers.get("Retry-After") ?? "");
    throw new Trouble({ ...answer, status: response.status }, Number.isNaN(seconds) ? undefined : seconds * 1_000);
  }

  // Ends early when the page becomes visible again: a turn may have come meanwhile.
  #sleep(ms) {
    if (ms <= 0) return Promise.resolve();
    return new Promise((done) => {
      const timer = setTimeout(done, ms);
      this.#wake = () => {
        clearTimeout(timer);
        done();
      };
    });
  }
}

function backoff(failures, trouble) {
  return trouble.retryAfterMs ?? Math.random() * Math.min(BACKOFF_MS_MAX, 1_000 * 2 ** failures);
}

function remembered(storage, key, make) {
  const found = storage.getItem(key);
  if (found) return found;
  const made = make();
  keep(storage, key, made);
  return made;
}

function keep(storage, key, value) {
  try {
    storage.setItem(key, value);
  } catch {
    // Storage is full or forbidden: the place is kept as long as this page is open.
  }
}
