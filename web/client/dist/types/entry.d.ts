import type { EntryAnswer } from "./answers.js";
/** An entry that waits far from the head, with what it takes to follow the public document. */
export type FarEntry = EntryAnswer & Required<Pick<EntryAnswer, "place" | "lane">> & {
    readonly look_after_ms: number;
};
/** Whether the entry waits far from the head or before the opening, so that the client follows the public document. */
export declare function isFarFromHead(entry: EntryAnswer | null): entry is FarEntry;
/** The interval in milliseconds after which a client that does not follow the document asks again. */
export declare function pollMs({ retry_after_ms: intervalMs }: EntryAnswer): number;
/** How long the server may hold a poll, in seconds. Only the poll of an entry that waits can be held. */
export declare function pollHoldSeconds(entry: EntryAnswer, isVisible: boolean): number;
/** The bound in milliseconds of the random part of the backoff after a failed request about the entry. */
export declare function backoffBoundMs(entry: EntryAnswer | null): number;
/**
 * The time in milliseconds until the client repeats a request about the entry that failed, without the random part. An
 * outage must not make the line ask more often than before, so it is at least 70 % of the last interval. In line it is at
 * most 70 % of two thirds of claim_seconds, as far as the client knows them: together with the random part it costs no
 * turn, whatever Retry-After a proxy has sent.
 */
export declare function failedPauseMs(entry: EntryAnswer | null, retryAfterMs?: number): number;
/**
 * The milliseconds from the answer to the end of its state: to claim, until the session ends, or in which the place of
 * a missed turn is kept. `NaN` if the state has no end.
 */
export declare function stateLeftMs(entry: EntryAnswer | null): number;
