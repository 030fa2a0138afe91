import type { EntryAnswer } from "./answers.js";
/** A visit and its lowest position. */
export interface LowestPosition {
    readonly visit: number;
    readonly position: number;
}
/** The lowest position of no visit. */
export declare const NO_POSITION: LowestPosition;
/** The lowest position with one more, of an answer or of a document. An unknown one changes nothing. */
export declare function lowerPosition(lowest: LowestPosition, { visit }: EntryAnswer, position?: number | null): LowestPosition;
/**
 * The position to show, or `null` if the entry does not wait, or if its last answer has no position: that answer came
 * from the backup, while the line could not be read.
 */
export declare function shownPosition(lowest: LowestPosition, entry: EntryAnswer | null): number | null;
