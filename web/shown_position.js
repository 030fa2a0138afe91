// The position that the visitor sees. It never rises within a visit.

const NONE = { visit: "", position: Infinity };

/** The lowest position so far in the current visit. */
export class ShownPosition {
  /** The visit and its lowest position, which the page stores for a reload. */
  lowest = NONE;

  /** Takes the position of an answer, or of a document. `null` is an unknown one and changes nothing. */
  lower(entry, position) {
    if (position === null) return;
    // A visitor who enters again has the same token and another visit.
    const visit = `${entry.token} ${entry.visit}`;
    const lowest = visit === this.lowest.visit ? this.lowest.position : Infinity;
    this.lowest = { visit, position: Math.min(lowest, position) };
  }

  /** Forgets the visit, which has ended. */
  clear() {
    this.lowest = NONE;
  }

  /**
   * The position to show, or `null` if the entry does not wait, or if its last answer has no position: that answer came
   * from the backup, while the line could not be read.
   */
  of(entry) {
    return entry?.state === "waiting" && Number.isFinite(entry.position) ? this.lowest.position : null;
  }
}
