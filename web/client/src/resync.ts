// What a client does after the queue was restored (a new epoch) or reset (a new generation), as documents tell.
//
// After a restore, the place of an entry stays valid, but the documents count from another start, so the client asks
// the entry. After a reset, the place is lost, so the client enters again. All clients notice it within seconds. Each
// one waits for a random time within `resync_ms`.

import type { PublicDocument } from "./answers.js";
import { SPREAD_MS_MAX, within } from "./bounds.js";
import { isSameEpoch } from "./document.js";

// If the server sets none.
const RESYNC_MS = 60_000;

/** Compares the documents since the entry's last answer with the first one. */
export class Resync {
  /** When to ask the entry, or to enter again. */
  resyncAtMs = Infinity;
  /** Whether the queue was reset. */
  isReset = false;
  #baseline: PublicDocument | null = null;

  /** Begins with an answer about the entry. `newest` is the newest document before, or `null`. */
  start(newest: PublicDocument | null): void {
    this.#baseline = newest;
    this.resyncAtMs = Infinity;
    this.isReset = false;
  }

  /**
   * Takes a newer document, and returns whether its counts can be compared with the answer. `random` returns a number
   * in [0, 1).
   */
  compare(document: PublicDocument, nowMs: number, random: () => number): boolean {
    this.#baseline ??= document;
    if (isSameEpoch(document, this.#baseline)) return true;
    // The random time is drawn once, or the earliest of many draws would count.
    if (this.resyncAtMs === Infinity) this.resyncAtMs = nowMs + random() * within(document.resync_ms, RESYNC_MS, SPREAD_MS_MAX);
    this.isReset ||= document.generation > this.#baseline.generation;
    return false;
  }
}
