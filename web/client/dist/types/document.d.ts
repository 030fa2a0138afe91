import type { EntryAnswer, PublicDocument, WaitRange } from "./answers.js";
import type { FarEntry } from "./entry.js";
import type { WaitingState } from "./types.js";
/** What the visitor is told about the queue. Texts are empty if there is nothing to tell. */
export interface QueueSummary {
    /** `scheduled`, `open`, `paused`, `draining` or `closed`. */
    readonly state: string;
    /** The operator's message in the language of the browser, if it is there. It is text, not markup. */
    readonly message: string;
    /** The message by language tag in lower case, for a page whose visitor chooses the language. */
    readonly messages: Readonly<Record<string, string>>;
    /** Why no entry is promoted although some wait: `capacity`, `clock` or `journal`. */
    readonly limitedBy: string;
    /** Why the queue is over: `over`, `sold_out` or `cancelled`. Empty while it is not. */
    readonly finishReason: string;
    /** How many visitors wait. `NaN` if that is not known. */
    readonly waiting: number;
    /** When the queue opens, as a reading of `performance.now()`. `NaN` if it has opened, or if that is not known. */
    readonly opensAtMs: number;
    /** From when on no new visitor enters, as a reading of `performance.now()`. `NaN` if no time is set or known. */
    readonly closesAtMs: number;
    /** Whether a draw decides the order of those who come before the opening. */
    readonly isDrawn: boolean;
}
/** What every answer says about the queue. The times come from documents alone. */
export type QueueAnswer = Omit<QueueSummary, "opensAtMs" | "closesAtMs" | "isDrawn">;
/**
 * Compares two documents by (generation, epoch, now_ms). The result is negative if `a` is older, and 0 if both are of
 * the same time. An edge of a CDN may return an older copy than another edge.
 */
export declare function compareDocuments(a: PublicDocument, b: PublicDocument): number;
/** Whether the queue was neither restored nor reset between two documents. */
export declare function isSameEpoch(a: PublicDocument, b: PublicDocument): boolean;
/** What the page shows about the queue, from a document, or from an answer about the entry with another `state`. */
export declare function summarizeQueue(answer: Omit<Partial<PublicDocument>, "state">, state?: string): QueueAnswer;
/** Whether the document calls the entry to check in. */
export declare function isCalled(entry: EntryAnswer, document: PublicDocument | null): boolean;
/** Whether the last answer about the entry came before the opening, so that it has no place. */
export declare function isBeforeOpening(entry: EntryAnswer | null): boolean;
/**
 * The position now, from the position and the count `gone_ahead` of the entry's last answer. It is too large by the
 * visitors who left ahead since then. Without that count in the document, it is the position of the answer.
 */
export declare function positionNow(entry: EntryAnswer, document: PublicDocument): number;
/**
 * How many turns come before the one at a position of the own lane, and whether that is expected only, because lanes share the
 * turns: by the document if it is newer than the entry's last answer, or else by that answer. `null` if the position is not
 * known.
 */
export declare function aheadOf(entry: EntryAnswer | null, position: number | null, document: PublicDocument | null): Pick<WaitingState, "ahead" | "isAheadExpected">;
/**
 * The expected wait as a range in seconds: by the document if it is newer than the entry's last answer, or else by that
 * answer. It was told `ageMs` ago, and is shorter by that time. `null` if the line stands still, or if the server knew
 * no estimate.
 */
export declare function estimate(entry: EntryAnswer | null, position: number | null, document: PublicDocument | null, ageMs: number): WaitRange | null;
/** The bounds of the interval in milliseconds at which the document is read. */
export declare function refreshBoundsMs(document: PublicDocument | null): {
    nearMs: number;
    farMs: number;
};
/**
 * The interval in milliseconds at which the document is read: a sixth of the expected wait, within the bounds. The wait
 * is the shortest one by the newest document, because a client that expects too long a wait learns late that it is
 * called. Before the first document, it is the middle of that of the entry's answer, which is `ageMs` old.
 */
export declare function refreshMs(entry: EntryAnswer | null, ageMs: number, position: number | null, document: PublicDocument | null): number;
/**
 * Whether the entry is within two windows of the boundary up to which entries are called. The window is the entries
 * between `passed_through` and `check_in_through`.
 *
 * The client does not see other entries, so it estimates their number in the window. `position` entries are between
 * `passed_through` and its own place. If their places were spread evenly, the window would have the same share of them
 * as of the distance. Places are times of arrival, and a crowd that arrives in one second is not spread evenly. So the
 * estimate is kept between the entries that the server calls at least, and four times as many. An entry is within two
 * windows of the boundary if its position is at most three windows.
 */
export declare function isNearBoundary({ place, lane }: FarEntry, position: number | null, document: PublicDocument | null): boolean;
