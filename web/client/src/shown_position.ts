// The position that the visitor sees. It never rises within a visit.

import type { EntryAnswer } from "./answers.js";

/** A visit and its lowest position. */
export interface LowestPosition {
  readonly visit: number;
  readonly position: number;
}

/** The lowest position of no visit. */
export const NO_POSITION: LowestPosition = { visit: 0, position: Infinity };

/** The lowest position with one more, of an answer or of a document. An unknown one changes nothing. */
export function lowerPosition(lowest: LowestPosition, { visit }: EntryAnswer, position?: number | null): LowestPosition {
  if (position == null) return lowest;
  // A visitor who enters again has the same token and another visit.
  return { visit, position: visit === lowest.visit ? Math.min(lowest.position, position) : position };
}

/**
 * The position to show, or `null` if the entry does not wait, or if its last answer has no position: that answer came
 * from the backup, while the line could not be read.
 */
export function shownPosition(lowest: LowestPosition, entry: EntryAnswer | null): number | null {
  return entry?.state === "waiting" && entry.position ? lowest.position : null;
}
