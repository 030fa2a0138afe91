// The answers of the server that the client reads. Each type has only the fields that the client uses.

import type { Messages } from "./message.js";

/** A range in seconds. */
export interface WaitRange {
  readonly low: number;
  readonly high: number;
}

/** What an entry does, by the server. An entry of a queue that is over is `finished`, by the client. */
export type EntryState = "waiting" | "ready" | "active" | "completed" | "left" | "expired" | "evicted" | "finished";

/** An answer about the entry. Fields that do not apply are absent. */
export interface EntryAnswer extends Messages {
  readonly token: string;
  readonly visit: number;
  readonly state: EntryState;
  readonly queue_state?: string | undefined;
  readonly position?: number | null;
  readonly ahead?: number | null;
  /** Whether `ahead` is expected only, because lanes share the turns. */
  readonly ahead_is_expected?: boolean;
  readonly waiting?: number;
  readonly place?: number;
  readonly lane?: number;
  readonly gone_ahead?: number;
  readonly look_after_ms?: number | undefined;
  readonly estimated_wait_seconds?: WaitRange | undefined;
  readonly retry_after_ms?: number;
  readonly leave_on_close?: boolean;
  readonly claim_in_ms?: number;
  readonly expires_at_ms?: number;
  readonly expires_in_ms?: number;
  readonly grace_until_ms?: number | undefined;
  readonly grace_in_ms?: number | undefined;
  /** More about an end than the state says. The client adds it from a problem. */
  readonly reason?: string | undefined;
  readonly pass?: string | undefined;
  /** The template of the address for admitted visitors: see `fillTarget`. */
  readonly target_url?: string;
  readonly visitor?: string;
  /** Only `false`, for a request with the token alone. The client always presents the visitor, too. */
  readonly proven?: false;
}

/** How far a lane has moved. */
export interface LaneDocument {
  readonly check_in_through: number;
  readonly passed_through: number;
  readonly gone_ahead: number;
  /** How many entries go past the head per second, or `null` before it was measured. */
  readonly speed?: number | null;
  /** The expected waits of the lane, if other lanes have a part of the promotions. */
  readonly estimated_waits?: readonly EstimatedWait[];
  /** How many turns come before those at positions of the lane, if other lanes have turns too. */
  readonly ahead?: readonly PositionAhead[];
  readonly ahead_is_expected?: boolean;
}

/** How many turns come before the one at a position. */
export interface PositionAhead {
  readonly position: number;
  readonly ahead: number;
}

/** What a problem says about the end of a visit. */
export type VisitEnd = Pick<EntryAnswer, "grace_in_ms" | "reason">;

/** The expected wait at a position, in seconds. */
export interface EstimatedWait extends WaitRange {
  readonly position: number;
}

/** The public document of a queue. */
export interface PublicDocument extends Messages {
  readonly generation: number;
  readonly epoch: number;
  readonly now_ms: number;
  readonly refresh_near_ms?: number;
  readonly refresh_far_ms?: number;
  readonly resync_ms?: number;
  readonly lanes: Readonly<Record<number, LaneDocument>>;
  /** How many entries are promoted per second, or `null` before any were. */
  readonly rate?: number | null;
  readonly estimated_waits?: readonly EstimatedWait[];
  readonly state: string;
  readonly limited_by?: string;
  /** Why the queue is over, if it is. */
  readonly finish_reason?: string;
  /** Before the opening: when it is, by the server's clock. */
  readonly opens_at_ms?: number;
  /** Before a draw: the hash of its seed. */
  readonly draw_commitment?: string;
  /** From when on no new visitor enters, by the server's clock. */
  readonly closes_at_ms?: number;
  /** How many entries wait. */
  readonly waiting?: number;
  /** Before a draw: over how many milliseconds clients spread entering. */
  readonly enter_spread_ms?: number;
  /** After the opening: the seed of the draw. */
  readonly draw_seed?: string;
  /** The order that the seed gives to the own entry. The client adds it. */
  readonly drawn?: number | undefined;
}
