// Follows one visitor's place in a queue: decides which request to send next and when, and what the visitor sees.
//
// The follower is a pure state machine. It sends nothing and has no timers, clock, randomness or storage. Its caller,
// vestibule.js, passes every event with a reading of a monotonic clock in milliseconds, executes `nextRequest` at its
// time, and shows `viewAt`.
//
//   far from the head: read the public document, which a CDN can serve, until it calls the entry or until
//                      `look_after_ms` has passed. Then ask the entry.
//   near the head:     poll the entry at the pace that the server sets, and claim when the turn comes.
//
// The answer about the entry decides between the two: `look_after_ms` is in it only while the entry is far. An older
// server never sends it, so the client polls. Polling alone is correct, so no failure of the document costs a turn.

import * as documents from "./document.js";
import { DocumentReader } from "./document_reader.js";
import * as entries from "./entry.js";
import { backoffMs } from "./problem.js";
import { Resync } from "./resync.js";
import { ShownPosition } from "./shown_position.js";

const NO_REQUEST = { kind: "none", atMs: Infinity };

export class Follower {
  #random;
  #reader;
  #resync;
  #isVisible = true;
  // "none", "joining" until the first answer, or "joined".
  #phase = "none";
  #token = "";
  // The last answer about the entry, and when it came.
  #entry = null;
  #entryAtMs = 0;
  #askedAtMs = 0; // Also in vain: the entry is asked again after `look_after_ms`.
  #shownPosition = new ShownPosition();
  // Failed requests about the entry since the last answer, and when to retry.
  #failures = 0;
  #retryAtMs = 0;
  #isClaimRefused = false;
  #hasProblem = false;
  #activeSinceMs = Infinity;
  #queue = {};

  /** `random` returns a number in [0, 1). */
  constructor({ random }) {
    this.#random = random;
    this.#reader = new DocumentReader(random);
    this.#resync = new Resync(random);
  }

  /** Restores the lowest position of a visit after a reload: the `lowest` of an earlier view. */
  restorePosition(lowest) {
    this.#shownPosition.lowest = lowest;
  }

  // Events

  /** The visitor joins. `token` is that of the entry which this browser has, or empty. */
  join(token, nowMs) {
    this.#phase = "joining";
    this.#token = token;
    this.#retryAtMs = nowMs;
    this.#failures = 0;
    this.#hasProblem = false;
  }

  /** The client stops all requests. The server keeps the place for a while. */
  stop() {
    this.#phase = "none";
  }

  /** The visitor has left: the server has carried out the request, which the shell sends by itself. */
  leave(nowMs) {
    this.#endEntry(this.#entry?.state === "active" ? "completed" : "left", {}, nowMs);
  }

  /** The page was shown or hidden. A hidden tab goes on to check in, and does not claim. */
  changeVisibility(isVisible) {
    this.#isVisible = isVisible;
  }

  /** The server has answered a request about the entry. */
  receiveEntry(entry, nowMs) {
    const before = this.#entry;
    this.#setEntry(entry, nowMs);
    this.#queue = entries.summarizeQueue(entry, this.#queue);
    if (entries.isEnded(entry)) return this.#endEntry(entry.state, entry, nowMs);
    this.#phase = "joined";
    this.#token = entry.token;
    if (entry.state !== "active") this.#activeSinceMs = Infinity;
    else if (before?.state !== "active") this.#activeSinceMs = this.#reader.dueMs = nowMs;
    this.#shownPosition.lower(entry, entry.position ?? null);
    if (!entries.isFarFromHead(entry)) return;
    if (!entries.isFarFromHead(before)) this.#reader.start(nowMs);
    this.#reader.scheduleAfterEntry(this.#refreshMs(nowMs), nowMs);
  }

  /** The server or a cache has answered with the public document. */
  receiveDocument(document, nowMs) {
    const isNewer = this.#reader.receive(document, nowMs);
    // A document of an older server cannot be followed, but tells about the queue.
    if (isNewer || !this.#reader.newest) this.#queue = documents.summarizeQueue(document);
    if (isNewer && entries.isFarFromHead(this.#entry)) {
      const isComparable = this.#resync.compare(document, nowMs) && this.#position() !== null;
      if (isComparable) this.#shownPosition.lower(this.#entry, documents.positionNow(this.#entry, document));
    }
    this.#reader.schedule(this.#refreshMs(nowMs), nowMs);
  }

  /**
   * A request of this `kind` has failed with a ProblemError. Returns whether the visitor must be told. The follower
   * itself handles a document that did not come, a refused claim, and the end of a visit.
   */
  receiveFailure(kind, problem, nowMs) {
    if (kind === "document") {
      this.#reader.postpone(nowMs, problem.retryAfterMs);
      return false;
    }
    const mustBeTold = this.#takeFailure(kind, problem, nowMs);
    this.#hasProblem ||= mustBeTold;
    return mustBeTold;
  }

  // Outputs

  /**
   * The next request: its `kind` is `enter`, `status` (with `token` and `holdSeconds`), `claim` (with `token`),
   * `document` or `none`, and `atMs` is the time to send it. Only an event changes it, and the passing of time is none.
   */
  get nextRequest() {
    if (this.#phase === "none") return NO_REQUEST;
    if (this.#phase === "joining") {
      const request = this.#token ? { kind: "status", token: this.#token, holdSeconds: 0 } : { kind: "enter" };
      return { ...request, atMs: this.#retryAtMs };
    }
    const { enterAtMs } = this.#resync;
    if (enterAtMs < Infinity) return { kind: "enter", atMs: Math.max(enterAtMs, this.#retryAtMs) };
    if (this.#entry.state === "ready" && this.#isVisible && !this.#isClaimRefused) {
      return { kind: "claim", token: this.#token, atMs: this.#retryAtMs };
    }
    if (!entries.isFarFromHead(this.#entry)) {
      const pollAtMs = this.#pollAtMs();
      const isDocumentNext = this.#needsTarget() && this.#reader.dueMs < pollAtMs;
      return isDocumentNext ? { kind: "document", atMs: this.#reader.dueMs } : this.#statusRequest(pollAtMs);
    }
    const lookAtMs = Math.max(this.#lookAtMs(), this.#retryAtMs);
    // Both would tell the same, so one request is enough.
    return lookAtMs <= this.#reader.dueMs ? this.#statusRequest(lookAtMs) : { kind: "document", atMs: this.#reader.dueMs };
  }

  /** The last answer about the entry, or `null`. When the visit ends, the entry stays with its last `state`. */
  get entry() {
    return this.#entry;
  }

  /** The token of the entry, or an empty string if the visit has ended. */
  get token() {
    return this.#token;
  }

  /** What the visitor sees at a time. `leftMs` counts from then. */
  viewAt(nowMs) {
    const entry = this.#entry;
    const isFollowing = this.#phase === "joined" && entries.isFarFromHead(entry);
    return {
      state: entry?.state ?? "none",
      /** The position, or `null` if the entry does not wait or its position is not known. It never rises in a visit. */
      position: this.#position(),
      lowest: this.#shownPosition.lowest,
      /** The expected wait `{low, high}`, or `null`. */
      estimatedWaitSeconds: this.#estimateAt(nowMs),
      /** The time to claim, until the session ends, or in which a missed turn's place is kept. `null`: not known. */
      leftMs: entries.leftMs(entry, nowMs - this.#entryAtMs),
      /** The newest facts about the queue: `state`, `message`, `limitedBy`. */
      queue: this.#queue,
      /** Where to send a visitor with a pass, or an empty string. */
      targetUrl: entry?.pass && !this.#needsTarget() ? (entry.target_url ?? this.#queue.targetUrl ?? "") : "",
      /** Whether the page needs the document in addition: an older server's answers tell nothing about the queue. */
      needsDocument: entry?.queue_state === undefined && !this.#needsTarget(),
      isFollowing,
      isCalled: entry?.state === "waiting" && (!isFollowing || this.#isCalledSinceAnswer()),
      /** Whether the client follows documents, and what is shown may be old because no new one comes. */
      isStale: isFollowing && nowMs >= Math.max(this.#reader.staleAtMs, this.#entryAtMs + this.#reader.staleAfterMs),
      /** Whether the last request about the entry failed, as the visitor was told. */
      hasProblem: this.#hasProblem,
      /** Whether the queue was restored or reset, and the time to ask again has not come. */
      isResyncing: this.#resync.statusAtMs < Infinity,
    };
  }

  // Requests

  #statusRequest(atMs) {
    const canBeHeld = !entries.isFarFromHead(this.#entry) || this.#isCalledSinceAnswer();
    const seconds = canBeHeld ? entries.holdSeconds(this.#entry, this.#isVisible) : 0;
    return { kind: "status", token: this.#token, holdSeconds: seconds, atMs };
  }

  #pollAtMs() {
    if (this.#failures > 0 || this.#isClaimRefused) return this.#retryAtMs;
    return this.#entryAtMs + entries.pollMs(this.#entry);
  }

  // When to ask an entry that was far from the head in the last answer.
  #lookAtMs() {
    const { nearMs } = documents.refreshBoundsMs(this.#reader.newest);
    const atMs = [this.#askedAtMs + this.#entry.look_after_ms, this.#resync.statusAtMs];
    // If an answer and a document contradict each other, the client asks each as often as it reads the document.
    if (this.#isCalledSinceAnswer()) atMs.push(Math.max(this.#reader.receivedAtMs, this.#entryAtMs + nearMs));
    // Without documents only the next visitors must ask, so that the outage of a cache does not overload the server.
    if (this.#isNearBoundary()) atMs.push(Math.max(this.#reader.staleAtMs, this.#pollAtMs()));
    return Math.min(...atMs);
  }

  // The boundary may go back, and an answer about the entry is right about it. So only a newer document can call again.
  #isCalledSinceAnswer() {
    return documents.isCalled(this.#entry, this.#reader.newestSinceAnswer);
  }

  #isNearBoundary() {
    return documents.isNearBoundary(this.#entry, this.#position(), this.#reader.newest);
  }

  #refreshMs(nowMs) {
    return documents.refreshMs(this.#entry, nowMs - this.#entryAtMs, this.#position(), this.#reader.newest);
  }

  // Changes of the state

  #setEntry(entry, nowMs) {
    this.#entry = entry;
    this.#entryAtMs = this.#askedAtMs = this.#retryAtMs = nowMs;
    this.#failures = 0;
    this.#isClaimRefused = this.#hasProblem = false;
    this.#reader.markAnswer();
    this.#resync.begin(this.#reader.newest);
  }

  #takeFailure(kind, problem, nowMs) {
    if (kind !== "enter" && problem.endsPlace) return this.#handleEnd(problem, nowMs);
    this.#isClaimRefused = kind === "claim" && problem.status === 409;
    if (this.#isClaimRefused) {
      // The entry is no longer ready. The next status request shows its state.
      this.#retryAtMs = nowMs + (problem.retryAfterMs ?? entries.POLL_MS_DEFAULT);
      return false;
    }
    if (problem.retryable) {
      const [{ retryAfterMs }, failures] = [problem, this.#failures++];
      const boundMs = entries.backoffBoundMs(this.#entry);
      this.#retryAtMs = nowMs + backoffMs({ retryAfterMs, failures, boundMs, random: this.#random });
      // Far from the head the place is kept, and after an outage a whole line must not come back at once.
      if (entries.isFarFromHead(this.#entry) && !this.#isNearBoundary()) this.#askedAtMs = nowMs;
      return true;
    }
    // The place of a queue that was reset is lost, even if the visitor cannot enter again.
    if (this.#resync.enterAtMs < Infinity) this.#setEntry(null, nowMs);
    this.#phase = "none";
    return true;
  }

  #handleEnd(problem, nowMs) {
    if (this.#phase === "joining") {
      // The visit of the stored token has ended, so the client enters again.
      this.#token = "";
      this.#shownPosition.clear();
      this.#retryAtMs = nowMs;
      return false;
    }
    const isKnown = problem.status === 410;
    this.#endEntry(isKnown ? (problem.more.state ?? "expired") : null, problem.more, nowMs);
    return !isKnown;
  }

  // Ends the visit with a state, or forgets the entry if the server does not know it.
  #endEntry(state, { grace_until_ms, grace_in_ms }, nowMs) {
    this.#setEntry(state && { ...this.#entry, state, pass: undefined, grace_until_ms, grace_in_ms }, nowMs);
    this.#phase = "none";
    this.#token = "";
    this.#shownPosition.clear();
  }

  // What the visitor sees

  #estimateAt(nowMs) {
    const document = this.#reader.newestSinceAnswer;
    const ageMs = document ? this.#reader.ageMs(nowMs) : nowMs - this.#entryAtMs;
    return documents.estimate(this.#entry, this.#position(), document, ageMs);
  }

  #position() {
    return this.#shownPosition.of(this.#entry);
  }

  // Only a document that came after the turn has the address to which the page sends an active visitor: the address may
  // have changed while the visitor waited.
  #needsTarget() {
    const { pass, target_url: targetUrl } = this.#entry ?? {};
    return pass !== undefined && targetUrl === undefined && this.#reader.receivedAtMs < this.#activeSinceMs;
  }
}
