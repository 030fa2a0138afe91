// Reads the public document: keeps the newest one, and decides when to ask for the next.

import type { PublicDocument } from "./answers.js";
import { within } from "./bounds.js";
import { compareDocuments, isSameEpoch, refreshBoundsMs } from "./document.js";
import { backoffMs } from "./problem.js";
import type { QueueSummary } from "./types.js";

// A document that has not advanced for so long, or for two refreshes, is stale.
const STALE_MS_MIN = 15_000;
const STALE_REFRESHES = 2;
// Readers vary their interval by so much to each side, so that they do not stay in step.
const REFRESH_JITTER = 0.15;

/** The state of the reader. It is as pure as the follower, and its times are those of the follower's clock. */
export class DocumentReader {
  /** The newest document, or `null`. */
  newest: PublicDocument | null = null;
  /** When any document came last. */
  receivedAtMs = -Infinity;
  /** When to ask for the next. */
  dueMs = Infinity;
  #random: () => number;
  // The newest document at the time of the last answer about the entry.
  #newestAtAnswer: PublicDocument | null = null;
  #refreshMs = 0;
  // When a newer document came last, or the reader started.
  #advancedAtMs = -Infinity;
  // Requests in a row that failed, or were answered with no newer document although the newest one is stale.
  #failures = 0;
  // The least difference between the own clock and the time of a document when it came. A cache may keep a document for
  // some seconds, so a greater difference is the age of the copy.
  #clockDifferenceMs = Infinity;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Starts to read after a time without reading, in which no newer document was expected. */
  start(nowMs: number): void {
    this.#advancedAtMs = nowMs;
    this.#failures = 0;
  }

  /** Takes a document, and returns whether it is newer than the ones before. */
  receive(document: PublicDocument, nowMs: number): boolean {
    this.receivedAtMs = nowMs;
    if (this.newest && compareDocuments(document, this.newest) <= 0) return false;
    // A restored queue may have another clock.
    if (!this.newest || !isSameEpoch(document, this.newest)) this.#clockDifferenceMs = Infinity;
    this.#clockDifferenceMs = Math.min(this.#clockDifferenceMs, nowMs - document.now_ms);
    this.newest = document;
    this.start(nowMs);
    return true;
  }

  /** Sets when to ask after an answer: after `refreshMs`, or by the backoff if the newest document is stale. */
  schedule(refreshMs: number, nowMs: number): void {
    this.#refreshMs = refreshMs;
    if (nowMs >= this.staleAtMs()) return this.postpone(nowMs);
    this.dueMs = nowMs + refreshMs * (1 + REFRESH_JITTER * (2 * this.#random() - 1));
  }

  /** Sets when to ask after an answer about the entry, which tells the same. A backoff goes on. */
  scheduleAfterEntry(refreshMs: number, nowMs: number): void {
    if (this.#failures === 0) this.schedule(refreshMs, nowMs);
  }

  /** Sets when to ask again after a failure. It grows to the longest interval: a late document costs no turn. */
  postpone(nowMs: number, retryAfterMs = 0): void {
    const { nearMs, farMs } = refreshBoundsMs(this.newest);
    this.dueMs = nowMs + backoffMs(Math.max(nearMs, retryAfterMs), this.#failures++, farMs, this.#random());
  }

  /** Brings the next request forward to `atMs`. */
  expedite(atMs: number): void {
    this.dueMs = Math.min(this.dueMs, atMs);
  }

  /** An answer about the entry has come. It is newer than the newest document. */
  markAnswer(): void {
    this.#newestAtAnswer = this.newest;
  }

  /** The newest document, or `null` if it came before the last answer about the entry. */
  get newestSinceAnswer(): PublicDocument | null {
    return this.newest === this.#newestAtAnswer ? null : this.newest;
  }

  /** How long ago the server made the newest document, which has to exist, as far as the documents so far show. */
  documentAgeMs(nowMs: number): number {
    return nowMs - this.newest!.now_ms - this.#clockDifferenceMs;
  }

  /** The times that the newest document names, by the follower's clock, and whether the queue draws. */
  get announced(): Pick<QueueSummary, "opensAtMs" | "closesAtMs" | "isDrawn"> {
    const { opens_at_ms: opensAt, closes_at_ms: closesAt, draw_commitment: commitment } = this.newest ?? {};
    const read = (atMs: unknown) => within(atMs, NaN, Infinity) + this.#clockDifferenceMs;
    return { opensAtMs: read(opensAt), closesAtMs: read(closesAt), isDrawn: !!commitment };
  }

  /** From when on the newest document is stale, or what came at `otherAtMs`, if nothing newer comes. */
  staleAtMs(otherAtMs = -Infinity): number {
    return Math.max(this.#advancedAtMs, otherAtMs) + Math.max(STALE_MS_MIN, STALE_REFRESHES * this.#refreshMs);
  }
}
