import type * as wire from "./wire.js";
type WithSome<T, Needed extends keyof T> = Pick<T, Needed> & Partial<T>;
/** A range in seconds. */
export type WaitRange = wire.WaitEstimate;
/** What an entry does, by the server. An entry of a queue that is over is `finished`, by the client. */
export type EntryState = wire.Entry["state"] | Exclude<wire.Problem["state"], "dismissed" | undefined> | "finished";
/** What a problem says about the end of a visit. */
export type VisitEnd = Pick<wire.Problem, "grace_in_ms" | "reason">;
/** An answer about the entry, or what the client knows of its end. */
export type EntryAnswer = WithSome<Omit<wire.Entry, "state">, "token" | "visit"> & VisitEnd & Pick<wire.Problem, "grace_until_ms"> & {
    readonly state: EntryState;
};
/** How far a lane has moved. */
export type LaneDocument = WithSome<wire.Lane, "check_in_through" | "passed_through" | "gone_ahead">;
/** The public document of a queue. */
export type PublicDocument = WithSome<Omit<wire.PublicDocument, "lanes">, "generation" | "epoch" | "now_ms" | "state"> & {
    readonly lanes: Readonly<Record<number, LaneDocument>>;
    /** The order that the seed gives to the own entry. The client adds it. */
    readonly drawn?: number | undefined;
};
export {};
