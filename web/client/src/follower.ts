// Follows one visitor's place in a queue: decides which request to send next and when, and what the visitor sees.
//
// The follower is a pure state machine. It sends nothing and has no timers, clock, randomness or storage. Its caller,
// place.ts, passes every event with a reading of a monotonic clock in milliseconds, executes `nextRequest` at its time,
// and shows `stateAt`. Two followers that get the same events decide the same, so each tab of a visitor has one.
//
//   far from the head: read the public document, which a CDN can serve, until it calls the entry or until
//                      `look_after_ms` has passed. Then ask the entry.
//   near the head:     poll the entry at the pace that the server sets, and claim when the turn comes.
//
// The answer about the entry decides between the two: `look_after_ms` is in it only while the entry is far. Polling
// alone is correct, so no failure of the document costs a turn.

import type { EntryAnswer, EntryState, PublicDocument, VisitEnd, WaitRange } from "./answers.js";
import { Attendance } from "./attendance.js";
import { PAUSE_MS_MAX, PAUSE_MS_MIN, POLL_MS_DEFAULT, SPREAD_MS_MAX, within } from "./bounds.js";
import { DocumentReader } from "./document_reader.js";
import * as documents from "./document.js";
import * as entries from "./entry.js";
import { END_CODES, OVER_CODES, ProblemError, REFUSAL_CODES, backoffMs } from "./problem.js";
import { Resync } from "./resync.js";
import { NO_POSITION, lowerPosition, shownPosition, type LowestPosition } from "./shown_position.js";
import type { Answer, FollowerRequest, RequestKind } from "./request.js";
import { NO_PLACE, type StoredPlace } from "./storage.js";
import { fillTarget } from "./target.js";
import type { PlaceState } from "./types.js";

// What the visitor sees again after an answer so recent is not asked for again, in milliseconds.
const WAKE_MS_MIN = 2_000;
// Clients whose network comes back at the same moment do not ask in the same moment.
const RECONNECT_MS_BOUND = 1_000;
// A visitor enters without the document of a draw's spread if it takes so long, in milliseconds.
const SPREAD_ANSWER_MS = 1_000;

/** What the follower does not know of a state. */
export type Known = Pick<PlaceState, "otherAccount" | "isUnstored">;

/** The state machine. */
export class Follower {
  /** Whether the visitor attends to the page. */
  readonly attendance: Attendance;
  /** Whether the device has no network. */
  isOffline = false;
  /** The token of the entry, or an empty string if the visit has ended. */
  token = "";
  /** The last answer about the entry, or `null`. When the visit ends, the entry stays with its last `state`. */
  entry: EntryAnswer | null = null;
  /** When that answer came. */
  entryAtMs = 0;
  /** The visit and the lowest position that was shown, for a reload. */
  lowest: LowestPosition = NO_POSITION;
  #random: () => number;
  #reader: DocumentReader;
  #resync = new Resync();
  #phase: "joining" | "joined" | "ended" | "failed" | "closed" = "joining";
  #heardAtMs = -Infinity; // When any answer came, or a request failed.
  #askedAtMs = 0; // Also in vain: the entry is asked again after `look_after_ms`.
  #wokenAtMs = Infinity;
  // Failed requests about the entry since the last answer, and when to retry.
  #failures = 0;
  #retryAtMs = Infinity;
  #isClaimRefused = false;
  #isPollRefused = false; // The gateway refused the last poll near the head.
  #problem: ProblemError | null = null;
  #queue = documents.summarizeQueue({});
  #returnTo: string | undefined;
  // Before entering, the document is read: it may spread the visitors of a draw.
  #isSpreading: boolean;

  /** `random` is in [0, 1). `isAutomatic`: input of the visitor confirms a turn. `returnTo`, `isSpreading`: see `QueueOptions`. */
  constructor(random: () => number, isAutomatic = true, returnTo?: string, isSpreading?: boolean) {
    this.#random = random;
    this.#isSpreading = !!isSpreading;
    this.#returnTo = returnTo;
    this.#reader = new DocumentReader(random);
    this.attendance = new Attendance(isAutomatic);
  }

  // Events

  /** The visitor joins, or continues with a stored place. */
  join({ token, lowest }: StoredPlace, nowMs: number): void {
    this.#phase = "joining";
    this.token = token;
    this.#retryAtMs = nowMs;
    this.lowest = lowest;
  }

  /** The document is asked for before entering. To enter early does no harm before a draw, and to enter late elsewhere does. */
  askSpread(nowMs: number): void {
    this.#isSpreading = false;
    this.#retryAtMs = nowMs + SPREAD_ANSWER_MS;
  }

  /** The visitor goes on as another account, and joins next. What is known of the queue stays. */
  forgetEntry(): void {
    this.#setEntry(null, this.entryAtMs);
    this.#phase = "joining";
  }

  /** The client stops. The server keeps the place for a while. */
  close(): void {
    this.#phase = "closed";
  }

  /**
   * The device may have slept, so what is shown may be old. `isReconnected`: the network is back. Returns whether the
   * next request is due sooner, and an earlier one that still runs is of no use. A visitor who comes back ends any backoff.
   */
  wake(nowMs: number, isReconnected: boolean): boolean {
    // If the server has answered with a failure, its Retry-After counts for all who reconnect together.
    const canAsk = isReconnected ? !this.#problem?.status : this.#problem || this.#phase === "joined";
    const isRecent = nowMs - this.#heardAtMs < WAKE_MS_MIN && !(isReconnected && this.#problem);
    if (!canAsk || isRecent) return false;
    const atMs = isReconnected ? nowMs + this.#random() * RECONNECT_MS_BOUND : nowMs;
    this.#wokenAtMs = atMs;
    this.#retryAtMs = Math.min(this.#retryAtMs, atMs);
    this.#reader.expedite(atMs);
    return true;
  }

  /** An answer has come. */
  receive({ kind, isOk, ...answer }: Answer, nowMs: number): void {
    this.#heardAtMs = nowMs;
    if (!isOk) this.#receiveFailure(kind, new ProblemError(answer), nowMs);
    else if (kind === "document") this.#receiveDocument(answer.body as unknown as PublicDocument, nowMs);
    else if (kind === "leave") this.#endEntry("left", nowMs);
    else this.#receiveEntry(kind, answer.body as unknown as EntryAnswer, nowMs);
  }

  #receiveEntry(kind: RequestKind, entry: EntryAnswer, nowMs: number): void {
    const before = this.entry;
    this.#setEntry(entry, nowMs);
    this.#queue = documents.summarizeQueue(entry, entry.queue_state);
    if (END_CODES.includes(entry.state)) return this.#endEntry(entry.state, nowMs, entry);
    this.#phase = "joined";
    if (entry.token !== this.token) this.lowest = NO_POSITION; // The queue was reset.
    this.token = entry.token;
    if (entry.state === "ready") {
      if (before?.state !== "ready") this.attendance.startTurn(nowMs);
      // A claim that changes nothing is not repeated at once.
      if (kind === "claim") this.#retryAtMs = nowMs + POLL_MS_DEFAULT;
    }
    this.lowest = lowerPosition(this.lowest, entry, entry.position);
    if (!entries.isFarFromHead(entry)) return;
    if (!entries.isFarFromHead(before)) this.#reader.start(nowMs);
    this.#reader.scheduleAfterEntry(this.#refreshMs(nowMs), nowMs);
  }

  #receiveDocument(document: PublicDocument, nowMs: number): void {
    this.#enterAfter(document.enter_spread_ms, nowMs);
    if (this.#reader.receive(document, nowMs)) {
      this.#queue = documents.summarizeQueue(document, document.state);
      if (entries.isFarFromHead(this.entry)) {
        // A called entry may have had its turn before the end, so the server is asked about it.
        const isFinished = document.state === "finished" && !this.#isCalledSinceAnswer();
        if (isFinished) return this.#endEntry("finished", nowMs);
        const isComparable = this.#resync.compare(document, nowMs, this.#random) && this.#position() !== null;
        const position = isComparable ? documents.positionNow(this.entry, document) : null;
        this.lowest = lowerPosition(this.lowest, this.entry, position);
      }
    }
    this.#reader.schedule(this.#refreshMs(nowMs), nowMs);
  }

  // The order of entering does not count before a draw, so a crowd enters over a time.
  #enterAfter(spreadMs: unknown, nowMs: number): void {
    // A late document ends no backoff.
    if (this.entry || this.#failures > 0 || (!this.#isSpreading && nowMs >= this.#retryAtMs)) return;
    this.#isSpreading = false;
    this.#retryAtMs = nowMs + this.#random() * within(spreadMs, 0, PAUSE_MS_MAX);
  }

  // Outputs

  /** The next request. Only an event changes it, and the passing of time is none. */
  get nextRequest(): FollowerRequest {
    const { entry } = this;
    if (!entry) {
      const kind = this.token ? "status" : this.#isSpreading ? "document" : "enter";
      return { kind, atMs: this.#retryAtMs };
    }
    const { isReset, resyncAtMs } = this.#resync;
    if (isReset) return { kind: "enter", atMs: Math.max(resyncAtMs, this.#retryAtMs) };
    // While the gateway refuses polls, a claim finds out whether the turn has come: its route has a limit of its own.
    const canClaim = entry.state === "ready" || this.#isPollRefused;
    if (canClaim && this.attendance.isConfirmed && !this.#isClaimRefused) {
      return { kind: "claim", atMs: this.#retryAtMs };
    }
    const { dueMs } = this.#reader;
    if (!entries.isFarFromHead(entry)) return this.#statusRequest(entry, this.#pollAtMs(entry));
    const lookAtMs = Math.max(this.#lookAtMs(entry), this.#retryAtMs);
    // Both would tell the same, so one request is enough.
    return lookAtMs <= dueMs ? this.#statusRequest(entry, lookAtMs) : { kind: "document", atMs: dueMs };
  }

  /** Whether the visit has ended or was refused, or the client has stopped. Then no request counts. */
  get isOver(): boolean {
    return !this.#phase.startsWith("join");
  }

  /**
   * What the visitor sees at a time, with what only the caller knows. At run time it has the fields of all statuses; the types show which mean
   * something.
   */
  stateAt(nowMs: number, known?: Known): PlaceState {
    const { entry } = this;
    const { state = "joining", token = "", visit, pass = null, target_url: template, reason } = entry ?? {};
    const isFollowing = this.#phase === "joined" && entries.isFarFromHead(entry);
    const isStale = isFollowing && nowMs >= this.#reader.staleAtMs(this.entryAtMs);
    const { waiting } = this.#queue;
    const place = documents.aheadOf(entry, this.#position(), isFollowing ? this.#reader.newestSinceAnswer : null);
    return Object.freeze({
      status: ["failed", "closed"].includes(this.#phase) ? this.#phase : state,
      token,
      visit,
      position: this.#position(),
      ...place,
      behind: place.ahead !== null && waiting >= 0 ? Math.max(0, waiting - place.ahead - 1) : null,
      estimatedWaitSeconds: this.#estimateAt(nowMs),
      isCalled: state === "waiting" && (!isFollowing || this.#isCalledSinceAnswer()),
      needsInput: !this.attendance.isConfirmed,
      endsAtMs: this.entryAtMs + entries.stateLeftMs(entry),
      pass,
      targetUrl: pass && template ? fillTarget(template, pass, this.#returnTo) : "",
      // An entry that expired without a session was never let in.
      isMissedTurn: !entry?.expires_at_ms,
      reason,
      queue: Object.freeze({ ...this.#queue, ...this.#reader.announced }),
      updatedAtMs: Math.max(this.entryAtMs, this.#reader.receivedAtMs),
      connection: this.isOffline ? "offline" : this.#problem && !this.isOver ? "retrying" : isStale ? "stale" : "online",
      problem: this.#problem,
      ...known,
    }) as PlaceState;
  }

  // Requests

  #statusRequest(entry: EntryAnswer, atMs: number): FollowerRequest {
    const canBeHeld = !entries.isFarFromHead(entry) || this.#isCalledSinceAnswer();
    return { kind: "status", holdSeconds: canBeHeld ? entries.pollHoldSeconds(entry, this.attendance.isPageVisible) : 0, atMs };
  }

  #pollAtMs(entry: EntryAnswer): number {
    if (this.#failures > 0 || this.#isClaimRefused) return this.#retryAtMs;
    return Math.min(this.#wokenAtMs, this.entryAtMs + entries.pollMs(entry));
  }

  // When to ask an entry that was far from the head in the last answer.
  #lookAtMs(entry: entries.FarEntry): number {
    const { nearMs } = documents.refreshBoundsMs(this.#reader.newest);
    const atMs = [this.#askedAtMs + within(entry.look_after_ms, 0, SPREAD_MS_MAX, PAUSE_MS_MIN), this.#resync.resyncAtMs];
    // If answer and document contradict each other, the client asks each as often as it reads the document.
    if (this.#isCalledSinceAnswer()) atMs.push(Math.max(this.#reader.receivedAtMs, this.entryAtMs + nearMs));
    // Without documents only the next visitors must ask, so that the outage of a cache does not overload the server.
    if (this.#isNearBoundary(entry)) atMs.push(Math.max(this.#reader.staleAtMs(), this.#pollAtMs(entry)));
    return Math.min(...atMs);
  }

  // The boundary may go back, and an answer about the entry is right about it. So only a newer document can call again.
  #isCalledSinceAnswer(): boolean {
    return !!this.entry && documents.isCalled(this.entry, this.#reader.newestSinceAnswer);
  }

  #isNearBoundary(entry: entries.FarEntry): boolean {
    return documents.isNearBoundary(entry, this.#position(), this.#reader.newest);
  }

  #refreshMs(nowMs: number): number {
    return documents.refreshMs(this.entry, nowMs - this.entryAtMs, this.#position(), this.#reader.newest);
  }

  // Changes of the state

  #setEntry(entry: EntryAnswer | null, nowMs: number): void {
    this.entry = entry;
    this.entryAtMs = this.#askedAtMs = this.#retryAtMs = nowMs;
    this.#wokenAtMs = Infinity;
    this.#failures = 0;
    this.#isClaimRefused = this.#isPollRefused = false;
    this.#problem = null;
    this.#reader.markAnswer();
    this.#resync.start(this.#reader.newest);
  }

  #receiveFailure(kind: RequestKind, problem: ProblemError, nowMs: number): void {
    const { code, retryAfterMs, status, body } = problem;
    // The document of a finished queue is no failure, so a document fails with such a code only if the queue is gone.
    if (OVER_CODES.includes(code)) {
      this.#queue = documents.summarizeQueue(body);
      return this.#endEntry("finished", nowMs);
    }
    // A late document costs no turn.
    if (kind === "document") return this.entry ? this.#reader.postpone(nowMs, retryAfterMs) : this.#enterAfter(0, nowMs);
    const isWaitingNear = this.entry?.state === "waiting" && !entries.isFarFromHead(this.entry);
    this.#isPollRefused = kind === "status" && status === 429 && isWaitingNear;
    if (this.#isPollRefused) this.attendance.startTurn(nowMs);
    const isEnd = END_CODES.includes(code);
    // In line it may be the route of another server, and the place is kept.
    const isRefused = REFUSAL_CODES.includes(code) || (kind === "enter" && code === "unknown-route");
    if (kind === "status" && this.#phase === "joining" && (isEnd || isRefused)) {
      // The stored token is of no use, so the client enters again.
      return this.join(NO_PLACE, nowMs);
    }
    if (kind !== "enter" && isEnd) {
      const isKnown = status === 410;
      this.#endEntry(isKnown ? ((body.state as EntryState) ?? "expired") : null, nowMs, body as VisitEnd);
      if (isKnown) return;
    } else if ((this.#isClaimRefused = code === "not-your-turn")) {
      // The entry is no longer ready. The next status request shows its state.
      this.#retryAtMs = nowMs + POLL_MS_DEFAULT;
      return;
    } else if (!isRefused && !isEnd) {
      // The client goes on, whatever a proxy answers: only the server ends or refuses a visit, by its codes.
      const boundMs = entries.backoffBoundMs(this.entry);
      const pauseMs = entries.failedPauseMs(this.entry, retryAfterMs);
      this.#retryAtMs = nowMs + backoffMs(pauseMs, this.#failures++, boundMs, this.#random());
      // Far from the head the place is kept, and after an outage a whole line must not come back at once.
      if (entries.isFarFromHead(this.entry) && !this.#isNearBoundary(this.entry)) this.#askedAtMs = nowMs;
    } else {
      // The place of a queue that was reset is lost, even if the visitor cannot enter again.
      if (this.#resync.isReset) this.#setEntry(null, nowMs);
      this.#phase = "failed";
    }
    this.#problem = problem;
  }

  // Ends the visit with a state, or forgets the entry if the server does not know it.
  #endEntry(state: EntryState | null, nowMs: number, end?: VisitEnd): void {
    this.#setEntry(state && { ...this.entry!, ...end, state, pass: undefined }, nowMs);
    this.#phase = state ? "ended" : "failed";
    this.token = "";
    this.lowest = NO_POSITION;
  }

  // What the visitor sees

  #estimateAt(nowMs: number): WaitRange | null {
    const document = this.#reader.newestSinceAnswer;
    const ageMs = document ? this.#reader.documentAgeMs(nowMs) : nowMs - this.entryAtMs;
    return documents.estimate(this.entry, this.#position(), document, ageMs);
  }

  #position(): number | null {
    return shownPosition(this.lowest, this.entry);
  }
}
