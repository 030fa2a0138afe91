// A client for one visitor's place in a Vestibule queue, for browsers. It joins the queue, follows the place, claims
// the turn while the page is visible, and leaves. It has no dependencies and no build step.
//
//   const place = new Place({ queue: "demo:1" });
//   place.addEventListener("change", () => show(place.view));
//   place.addEventListener("problem", (event) => show(event.detail));
//   await place.join();
//
// Far from the head of the line, the client reads the public document of the queue, which is the same for every visitor
// and which a cache can serve. Near the head it polls the entry, at the pace that the server sets. follower.js decides
// which request comes next and when. This file is the shell around it: it sends the requests (queue_api.js), and has
// the timer, the clock, the randomness and the storage.

import { Follower } from "./follower.js";
import { ProblemError } from "./problem.js";
import { QueueApi } from "./queue_api.js";

export { ProblemError };

const VISITOR_KEY = "vestibule:visitor";
// A browser runs a timer of more than 24 days at once.
const TIMER_MS_MAX = 3_600_000;

/**
 * One visitor's place in one queue. When the turn comes, the client claims it as soon as the page is visible, so that
 * no session runs while the visitor does not see the page.
 *
 * Emits `change` after each answer about the entry or the queue. Emits `problem`, with a `ProblemError` as its
 * `detail`, after a request that failed: the client retries a `retryable` one, and stops after any other.
 */
export class Place extends EventTarget {
  #queue;
  #api;
  #follower = new Follower({ random: Math.random });
  #visitor;
  // The number of the current run, from `join` to the end. An answer to a request of another run is ignored.
  #run = 0;
  #isRequesting = false;
  #timer;
  // When the next request is due by the visitor's clock, which goes on while a phone sleeps.
  #dueWallMs = Infinity;
  // Settles the promise of `join`.
  #joining = null;

  /** `queue` is the id of the queue. `base` is the part of the API's address before `/queues`, such as `/Prod`. */
  constructor({ queue, base = "" }) {
    super();
    this.#queue = queue;
    this.#api = new QueueApi(queue, base);
    // The client generates the visitor id, so that a retry of the first enter is safe. If the page's origin is not
    // secure, randomUUID does not exist and the server generates the id.
    this.#visitor = readStorage("localStorage", VISITOR_KEY) || crypto.randomUUID?.();
    if (this.#visitor) writeStorage("localStorage", VISITOR_KEY, this.#visitor);
    this.#restorePosition();
    document.addEventListener("visibilitychange", () => this.#changeVisibility());
  }

  /**
   * The entry in the last answer of the server. It is `null` before joining, and when the server no longer has the
   * entry. When the visit ends, the entry stays, and its `state` is `completed`, `left`, `expired` or `evicted`. After
   * a missed turn it has `grace_until_ms`: a `join` before that time gets the old place back. While the entry is
   * `active`, `pass` is the pass for the protected service; polling renews it in time.
   */
  get entry() {
    return this.#follower.entry;
  }

  /** The position to show, or `null` if it is not known. It never rises within a visit, even after a reload. */
  get position() {
    return this.view.position;
  }

  /** What the visitor sees now: see `viewAt` in follower.js. */
  get view() {
    return this.#follower.viewAt(performance.now());
  }

  /**
   * Enters the queue, or continues with the place that this browser already has, and follows it. Retries while a retry
   * may succeed. Throws any other `ProblemError`.
   */
  join() {
    this.#startRun();
    this.#follower.changeVisibility(isVisible());
    this.#follower.join(readStorage("sessionStorage", this.#tokenKey) ?? "", performance.now());
    return new Promise((resolve, reject) => {
      this.#joining = { resolve, reject };
      this.#scheduleRequest();
    });
  }

  /**
   * Gives up the place. A waiting or ready entry leaves the line; an active entry completes its visit. If this throws,
   * the visitor keeps the place and the client goes on.
   */
  async leave() {
    const { entry } = this;
    if (!entry || !this.#follower.token) return this.stop();
    try {
      await this.#api.leave(entry, this.#visitor);
    } catch (problem) {
      if (!problem.endsPlace) throw problem;
    }
    this.#startRun();
    this.#follower.leave(performance.now());
    this.#publishChange();
  }

  /** Stops polling and claiming. The server keeps the place for a while; `join` continues with it. */
  stop() {
    this.#startRun();
    this.#follower.stop();
  }

  /** Fetches the public document: how many entries wait, the message, whether the queue is paused. */
  async fetchPublicDocument() {
    const publicDocument = await this.#api.fetchDocument();
    this.#follower.receiveDocument(publicDocument, performance.now());
    if (!this.#isRequesting) this.#scheduleRequest();
    this.dispatchEvent(new Event("change"));
    return publicDocument;
  }

  /**
   * Milliseconds until a time of the server's clock, such as `entry.expires_at_ms`. The result is precise to half a
   * second. If the API has another origin and does not expose `Date`, it is only as precise as the visitor's clock.
   * `view.leftMs` is better where it is known.
   */
  msUntil(serverMs) {
    return this.#api.msUntil(serverMs);
  }

  // Ends the run before, whose `join` has nothing to wait for.
  #startRun() {
    this.#run++;
    this.#isRequesting = false;
    clearTimeout(this.#timer);
    this.#joining?.resolve();
    this.#joining = null;
  }

  #scheduleRequest() {
    clearTimeout(this.#timer);
    const { kind, atMs } = this.#follower.nextRequest;
    if (kind === "none") return;
    const delayMs = Math.max(0, atMs - performance.now());
    this.#dueWallMs = Date.now() + delayMs;
    this.#timer = setTimeout(
      () => (delayMs > TIMER_MS_MAX ? this.#scheduleRequest() : this.#sendRequest()),
      Math.min(delayMs, TIMER_MS_MAX),
    );
  }

  async #sendRequest() {
    clearTimeout(this.#timer);
    const [run, request] = [this.#run, this.#follower.nextRequest];
    this.#isRequesting = true;
    const result = await this.#execute(request).then(
      (answer) => ({ answer }),
      (problem) => ({ problem }),
    );
    if (run !== this.#run) return;
    this.#isRequesting = false;
    if (result.problem) this.#takeFailure(request.kind, result.problem);
    else this.#takeAnswer(request.kind, result.answer);
    // A listener may have started another run.
    if (run === this.#run) this.#scheduleRequest();
  }

  #execute(request) {
    return request.kind === "document" ? this.#api.fetchDocument() : this.#api.sendEntryRequest(request, this.#visitor);
  }

  #takeAnswer(kind, answer) {
    if (kind === "document") {
      this.#follower.receiveDocument(answer, performance.now());
      return this.#publishChange();
    }
    if (answer.visitor) {
      this.#visitor = answer.visitor;
      writeStorage("localStorage", VISITOR_KEY, answer.visitor);
    }
    this.#follower.receiveEntry(answer, performance.now());
    this.#publishChange();
    this.#joining?.resolve();
    this.#joining = null;
    this.#fetchNeededDocument();
  }

  #takeFailure(kind, problem) {
    const mustBeTold = this.#follower.receiveFailure(kind, problem, performance.now());
    // A problem may come with a change: the visit has ended, or what is shown is old.
    if (!problem.retryable || kind === "document") this.#publishChange();
    if (mustBeTold) this.dispatchEvent(new CustomEvent("problem", { detail: problem }));
    if (!mustBeTold || problem.retryable) return;
    this.#joining?.reject(problem);
    this.#joining = null;
    this.#fetchNeededDocument();
  }

  // Beside the requests of the follower: these report an outage, and this one delays none of them.
  #fetchNeededDocument() {
    if (this.view.needsDocument) this.fetchPublicDocument().catch(() => {});
  }

  #changeVisibility() {
    this.#follower.changeVisibility(isVisible());
    if (this.#isRequesting) return;
    // The timer and the monotonic clock of a phone that slept may not have run. The visitor's clock can only bring a
    // request forward.
    const isOverdue = isVisible() && Date.now() >= this.#dueWallMs && this.#follower.nextRequest.kind !== "none";
    if (isOverdue) this.#sendRequest();
    else this.#scheduleRequest();
  }

  #publishChange() {
    const { lowest } = this.view;
    writeStorage("sessionStorage", this.#tokenKey, this.#follower.token);
    writeStorage("sessionStorage", this.#positionKey, lowest.visit && `${lowest.visit} ${lowest.position}`);
    this.dispatchEvent(new Event("change"));
  }

  #restorePosition() {
    const [, visit, position] = /^(.*) (\d+)$/.exec(readStorage("sessionStorage", this.#positionKey) ?? "") ?? [];
    if (visit) this.#follower.restorePosition({ visit, position: Number(position) });
  }

  get #tokenKey() {
    return `vestibule:token:${this.#queue}`;
  }

  get #positionKey() {
    return `vestibule:position:${this.#queue}`;
  }
}

function isVisible() {
  return document.visibilityState === "visible";
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
