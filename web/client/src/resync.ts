// What a client does after the queue was restored (a new epoch) or reset (a new generation), as documents tell.
//
// After a restore, the place of an entry stays valid, but the documents count from another start, so the client asks
// the entry. After a reset, the place is lost, so the client enters again. All clients notice it within seconds. Each
// one waits for a random time within `resync_ms`.

import type { PublicDocument } from "./answers.js";
import { SPREAD_MS_MAX, within } from "./bounds.js";
import { isSameEpoch, refreshBoundsMs } from "./document.js";

/** Compares the documents since the entry's last answer with the first one. */
export class Resync {
  /** When to ask the entry. */
  statusAtMs = Infinity;
  /** When to enter again. */
  enterAtMs = Infinity;
  #baseline: PublicDocument | null = null;

  /** Begins with an answer about the entry. `newest` is the newest document before, or `null`. */
  begin(newest: PublicDocument | null): void {
    this.#baseline = newest;
    this.statusAtMs = this.enterAtMs = Infinity;
  }

  /**
   * Takes a newer document, and returns whether its counts can be compared with the answer. `random` returns a number
   * in [0, 1).
   */
  compare(document: PublicDocument, nowMs: number, random: () => number): boolean {
    this.#baseline ??= document;
    if (isSameEpoch(document, this.#baseline)) return true;
    // The random time is drawn once, or the earliest of many draws would count.
    const atMs = nowMs + random() * within(document.resync_ms, refreshBoundsMs(document).farMs, SPREAD_MS_MAX);
    if (this.statusAtMs === Infinity) this.statusAtMs = atMs;
    if (document.generation > this.#baseline.generation && this.enterAtMs === Infinity) this.enterAtMs = atMs;
    return false;
  }
}
