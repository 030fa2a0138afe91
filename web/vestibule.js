// A place in a Vestibule queue, for browsers: joins, polls at the pace that the server tells, claims by itself while
// the page is visible, and leaves. No dependencies, no build step.
//
//   const place = new Place({ queue: "demo:1" });
//   place.addEventListener("change", () => show(place.entry, place.position));
//   place.addEventListener("trouble", (event) => show(event.detail));
//   await place.join();

// How long the server may hold a poll, in seconds, while the turn is near. It answers at once when the turn comes, but
// never for a mere step forward: whoever looks at the page is given a new position more often.
const HOLD_SECONDS = 20;
const HOLD_SECONDS_VISIBLE = 5;
// What takes longer, the hold aside, is lost: with the longest hold, API Gateway has given up by then.
const ANSWER_MS = 10_000;
// Where the server does not say when to come back.
const POLL_MS = 2_000;
// Whatever the server says, never faster.
const POLL_MS_MIN = 250;
// After errors: anything from 0 to 1 s, 2 s, 4 s and so on, up to a fifth of claim_seconds, so that no error costs a
// turn. The server does not tell claim_seconds: they are 10 at least, and retry_after_ms is two thirds of them at most.
const BACKOFF_MS = 1_000;
const BACKOFF_MS_BOUND_MIN = 2_000;
const BACKOFF_MS_BOUND_MAX = 12_000;
const BACKOFF_BY_RETRY_AFTER = 0.3;

const VISITOR = "vestibule:visitor";
const GONE = new Set(["completed", "left", "expired"]);
// The queue was reset, or the visit is long over.
const LOST = new Set(["unknown-entry", "token-owner-mismatch"]);

/**
 * Why the server did not do what was asked: an RFC 9457 problem with its stable `code`, `code: "network"` where no
 * answer came, or `code: "no-problem"` where an answer of that `status` says nothing more.
 */
export class Trouble extends Error {
  constructor({ status = 0, code, title, detail = "", ...more } = {}, retryAfterMs) {
    const [kind, what] = status === 0 ? ["network", "No answer"] : ["no-problem", `The server answered ${status}`];
    super(detail || title || what);
    this.name = "Trouble";
    Object.assign(this, { status, code: code ?? kind, title: title ?? what, detail, more, retryAfterMs });
  }

  /** Whether asking again later may help. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }

  /** Whether the place that was asked about is no more. */
  get ends() {
    return this.status === 410 || LOST.has(this.code);
  }
}

/**
 * One visitor's place in one queue. When the turn comes it is claimed at once while the page is visible, else as soon
 * as it is: nobody's session runs where nobody looks.
 *
 * Emits `change` whenever the server has said how the entry stands, and `trouble`, with a `Trouble` as its `detail`,
 * when it has not: a `passing` one is tried again, after any other the place is not followed any more.
 */
export class Place extends EventTarget {
  /**
   * The entry as the server last described it; `null` before joining, and when the server knows of none any more. When
   * the visit is over it stays, and its `state` is `completed`, `left` or `expired`; of a turn that was missed it has
   * `grace_until_ms`: a `join` by then takes the old place back. While it is `active`, `pass` is what the protected
   * service wants to see; it is renewed in time.
   */
  entry = null;
  /** The position to show: within a visit it only ever falls, also by a reload. `null` when not waiting. */
  position = null;
  #queue;
  #base;
  #visitor;
  #clockOffsetMs = null;
  // The lowest position so far, behind the visit that it is of.
  #lowest;
  // Whoever follows the place stops when this is no longer theirs.
  #run = 0;

  /** `queue` is its id; `base` is what stands before `/queues` in the address of the API, such as `/Prod`. */
  constructor({ queue, base = "" }) {
    super();
    this.#queue = queue;
    this.#base = `${base}/queues/${encodeURIComponent(queue)}`;
    // Drawn here, so that a retry of the first enter is safe; where the page's origin is not secure, by the server.
    this.#visitor = recall("localStorage", VISITOR) || crypto.randomUUID?.();
    if (this.#visitor) keep("localStorage", VISITOR, this.#visitor);
    this.#lowest = recall("sessionStorage", this.#positionKey) ?? "";
  }

  /**
   * Takes a place, or takes up the one that this browser holds already, and follows it. Tries again as long as that may
   * help; throws the `Trouble` where it cannot.
   */
  async join() {
    const run = ++this.#run;
    for (let failures = 0; ; failures++) {
      try {
        const entry = await this.#found();
        if (run !== this.#run) return;
        this.#take(entry);
        this.#follow(run);
        return;
      } catch (trouble) {
        if (run !== this.#run) return;
        this.#tell(trouble);
        if (!trouble.passing) throw trouble;
        await this.#sleep(backoffMs(failures, trouble));
        if (run !== this.#run) return;
      }
    }
  }

  /**
   * Gives the place up: in line it goes to the next one, after being let in the visit is complete. Where this throws,
   * the place is kept and still followed.
   */
  async leave() {
    const { entry } = this;
    if (!entry || GONE.has(entry.state)) return this.stop();
    try {
      await this.#ask("DELETE", `/entries/${entry.token}?visit=${entry.visit}`);
    } catch (trouble) {
      if (!trouble.ends) throw trouble;
    }
    this.stop();
    this.#end(entry.state === "active" ? "completed" : "left");
  }

  /** Stops following, and claims nothing any more. The server keeps the place for a while: `join` takes it up again. */
  stop() {
    this.#run++;
  }

  /** What everybody may know of the queue: how many wait, the message, whether it is paused. */
  view() {
    return this.#ask("GET", "");
  }

  /**
   * Milliseconds until a time of the server's clock, such as `entry.expires_at_ms`: good to half a second, or as good
   * as the visitor's clock where the API is of another origin and does not expose `Date`.
   */
  msUntil(serverMs) {
    return serverMs - (Date.now() + (this.#clockOffsetMs ?? 0));
  }

  async #found() {
    const token = recall("sessionStorage", this.#tokenKey);
    if (token) {
      try {
        return await this.#ask("GET", `/entries/${token}`);
      } catch (trouble) {
        if (!trouble.ends) throw trouble;
        // A new visit begins.
        this.#forget();
      }
    }
    return this.#ask("POST", "/entries", {});
  }

  async #follow(run) {
    let failures = 0;
    let refused = false;
    let pauseMs = this.#pauseMs();
    for (;;) {
      await this.#sleep(pauseMs, failures === 0);
      if (run !== this.#run) return;
      try {
        const answer = await this.#next(refused);
        if (run !== this.#run) return;
        failures = 0;
        refused = false;
        this.#take(answer);
        pauseMs = this.#pauseMs();
      } catch (trouble) {
        if (run !== this.#run) return;
        if (trouble.ends) return this.#over(trouble);
        // The turn is not what it was a moment ago: a look says what it is.
        refused = trouble.status === 409;
        if (!refused) {
          this.#tell(trouble);
          if (!trouble.passing) return;
        }
        pauseMs = refused ? (trouble.retryAfterMs ?? POLL_MS) : backoffMs(failures++, trouble, this.entry.retry_after_ms);
      }
    }
  }

  #next(refused) {
    const { state, token } = this.entry;
    if (state === "ready" && visible() && !refused) return this.#ask("POST", `/entries/${token}/claim`, {});
    const wait = visible() ? HOLD_SECONDS_VISIBLE : HOLD_SECONDS;
    return this.#ask("GET", `/entries/${token}`, undefined, state === "waiting" ? wait : 0);
  }

  #pauseMs() {
    const { state, retry_after_ms: told = POLL_MS } = this.entry;
    return state === "ready" && visible() ? 0 : Math.max(POLL_MS_MIN, told);
  }

  #take(entry) {
    this.position = entry?.state === "waiting" ? this.#shown(entry) : null;
    this.entry = entry;
    if (entry?.visitor) {
      this.#visitor = entry.visitor;
      keep("localStorage", VISITOR, entry.visitor);
    }
    if (entry && !GONE.has(entry.state)) keep("sessionStorage", this.#tokenKey, entry.token);
    this.dispatchEvent(new Event("change"));
  }

  #shown({ token, visit, position = null }) {
    // An answer out of the backup has none.
    if (position === null) return null;
    const of = `${token} ${visit} `;
    const lowest = this.#lowest.startsWith(of) ? Math.min(position, Number(this.#lowest.slice(of.length))) : position;
    this.#lowest = of + lowest;
    keep("sessionStorage", this.#positionKey, this.#lowest);
    return lowest;
  }

  #over(trouble) {
    if (trouble.status === 410) return this.#end(trouble.more.state ?? "expired", trouble.more.grace_until_ms);
    this.#forget();
    this.#take(null);
    this.#tell(trouble);
  }

  #end(state, graceUntilMs) {
    this.#forget();
    this.#take({ ...this.entry, state, pass: undefined, grace_until_ms: graceUntilMs });
  }

  #tell(trouble) {
    this.dispatchEvent(new CustomEvent("trouble", { detail: trouble }));
  }

  #forget() {
    this.#lowest = "";
    keep("sessionStorage", this.#positionKey, "");
    keep("sessionStorage", this.#tokenKey, "");
  }

  get #tokenKey() {
    return `vestibule:token:${this.#queue}`;
  }

  get #positionKey() {
    return `vestibule:position:${this.#queue}`;
  }

  async #ask(method, path, body, holdSeconds = 0) {
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
        signal: AbortSignal.timeout(holdSeconds * 1_000 + ANSWER_MS),
      });
      if (response.status !== 204) answer = await response.json();
    } catch {
      // No answer, or one that is not the API's own: something in between may still say when to come back.
      throw new Trouble({ status: response?.ok ? 0 : response?.status }, retryAfterMs(response));
    }
    // The public view may come out of a cache, with an old time.
    if (path !== "") this.#setClock(Date.parse(response.headers.get("Date") ?? ""));
    if (response.ok) return answer;
    throw new Trouble({ ...answer, status: response.status }, retryAfterMs(response));
  }

  // The header tells whole seconds: what is known already stays within the one that it names.
  #setClock(serverMs) {
    if (Number.isNaN(serverMs)) return;
    const least = serverMs - Date.now();
    this.#clockOffsetMs = Math.min(least + 1_000, Math.max(least, this.#clockOffsetMs ?? least + 500));
  }

  // When the page comes back into view it ends early: where the time has passed, which the timers of a phone that slept
  // did not notice, and, if `claims`, where a turn waits to be claimed.
  #sleep(ms, claims = false) {
    return new Promise((done) => {
      const dueMs = Date.now() + ms;
      const end = () => {
        clearTimeout(timer);
        document.removeEventListener("visibilitychange", look);
        done();
      };
      const look = () => {
        if (visible() && (Date.now() >= dueMs || (claims && this.entry?.state === "ready"))) end();
      };
      const timer = setTimeout(end, ms);
      document.addEventListener("visibilitychange", look);
    });
  }
}

function visible() {
  return document.visibilityState === "visible";
}

function backoffMs(failures, trouble, toldMs = Infinity) {
  const bound = Math.min(BACKOFF_MS_BOUND_MAX, Math.max(BACKOFF_MS_BOUND_MIN, BACKOFF_BY_RETRY_AFTER * toldMs));
  return trouble.retryAfterMs ?? Math.random() * Math.min(bound, BACKOFF_MS * 2 ** failures);
}

// Whole seconds; a date, which something in between may say, is no better than the visitor's clock, and ignored.
function retryAfterMs(response) {
  const seconds = Number(response?.headers.get("Retry-After") ?? Number.NaN);
  return seconds > 0 ? seconds * 1_000 : undefined;
}

// Storage may be full or forbidden, and even its name may throw: the place is kept then as long as the page is open.
function recall(storage, key) {
  try {
    return globalThis[storage].getItem(key);
  } catch {
    return null;
  }
}

function keep(storage, key, value) {
  try {
    globalThis[storage].setItem(key, value);
  } catch {
    // See above.
  }
}
