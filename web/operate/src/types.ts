// What the server of the console answers. A value that the admin function does not have is `null`.

import type { ProblemBody } from "../../client/src/problem.js";
import type { PublicDocument, QueueState, WaitEstimate } from "../../client/src/wire.js";

/** A range of seconds, or one number of them. */
export type Estimate = WaitEstimate | number;

/** The row of a queue in the admin function's `list`. A queue that does not answer has a `problem` and no numbers. */
export interface Row {
  readonly queue: string;
  readonly waiting?: number;
  readonly state?: QueueState;
  readonly clocks_apart?: boolean;
  readonly problem?: string;
}

/** What an operator may order: to change nothing, the orders of a sale, or every order. */
export type Right = "look" | "operate" | "end";

/** The health of the deployment. */
export interface Health {
  readonly line_ms: number | null;
  readonly backup_ms: number | null;
  readonly tick_age_ms: number | null;
  readonly problem: string | null;
}

/** All queues, and the deployment that has them. */
export interface Overview {
  readonly now_ms: number;
  readonly deployment: {
    readonly kind: "local" | "stack";
    readonly name: string;
    readonly region: string | null;
    readonly page: boolean;
    readonly page_url: string | null;
    /** What the operator may order. */
    readonly right: Right;
  };
  readonly health: Health;
  readonly sampled_at_ms: number | null;
  /** `waiting` has up to 60 numbers of the last 30 minutes, the oldest first. */
  readonly queues: readonly { readonly queue: string; readonly row: Row; readonly waiting: readonly number[] }[];
}

/** The totals of a queue since its generation began. */
export interface Totals {
  readonly entered: number;
  readonly promoted: number;
  readonly completed: number;
  readonly left: number;
  readonly expired: number;
  readonly evicted: number;
  readonly no_shows: number;
  readonly dismissed: number;
  readonly returned: number;
}

/** How long sessions lasted, in milliseconds. The percentiles are `null` without a session. */
export interface Stays {
  readonly count: number;
  readonly sum_ms: number;
  readonly p50_ms: number | null;
  readonly p90_ms: number | null;
}

/** The answer of the admin function's `stats`. */
export interface Stats {
  readonly queue: string;
  readonly now_ms: number;
  readonly state: QueueState;
  readonly mode: PublicDocument["mode"];
  readonly waiting: number;
  readonly called: number;
  readonly present: number;
  readonly absent: number;
  readonly ready: number;
  readonly active: number;
  readonly held: number;
  readonly capacity: number;
  /** Entries per interval by the pace in force, which an adaptive queue moves. */
  readonly batch: number;
  readonly limited_by: string | null;
  readonly served_per_second: number | null;
  readonly estimated_wait_seconds: Estimate | null;
  readonly totals: Totals;
  /** How long the sessions lasted that ended. An admin function of an earlier build does not say. */
  readonly stays?: Stays;
  readonly epoch: number;
  readonly generation: number;
}

/** A text for visitors: one, or one for each language. */
export type Message = string | Readonly<Record<string, string>> | null;

/** The settings of a queue that the console reads. */
export interface Settings {
  readonly batch: number;
  readonly interval_seconds: number;
  readonly capacity: number;
  readonly session_seconds: number;
  readonly claim_seconds: number;
  readonly presence_seconds: number;
  readonly absent_seconds: number;
  readonly lane_share: number;
  readonly adaptive: boolean;
  readonly before_opening: string;
  readonly opens_at_ms: number | null;
  readonly closes_at_ms: number | null;
  readonly ends_at_ms: number | null;
  readonly entrance: string;
  readonly paused: boolean;
  readonly message: Message;
}

/** The numbers of a queue at one moment. `promoted` and so on are totals. */
export interface Sample {
  readonly at_ms: number;
  readonly waiting: number | null;
  readonly capacity: number | null;
  readonly batch: number | null;
  readonly interval_seconds: number | null;
  readonly paused: boolean | null;
  readonly state: QueueState | null;
  readonly promoted: number | null;
  /** Visitors who were let in at once, because none waited. They take of the same pace. */
  readonly fast_tracked?: number | null;
  readonly entered: number | null;
  readonly estimated_wait_seconds: Estimate | null;
  /** The mean wait of those who were promoted since the sample before. */
  readonly had_wait_seconds: number | null;
}

/** An order that was carried out. `arguments` is JSON, or a part of it if it was long. */
export interface LoggedOrder {
  readonly at_ms: number;
  readonly op: string;
  readonly caller?: string | null;
  readonly arguments: string;
  /** The tokens of the entries that it concerned, while their records are kept. */
  readonly tokens?: readonly string[];
  /** The settings that it changed, as they were before. */
  readonly settings_before?: Readonly<Record<string, unknown>>;
  /** The revision of the settings after it. */
  readonly revision?: string;
}

/** One queue. */
export interface Detail {
  readonly queue: string;
  readonly now_ms: number;
  readonly stats: Stats;
  readonly settings: Settings | null;
  /** What identifies the settings; `update` refuses a setting that has changed since. */
  readonly revision: string | null;
  /** Which build answers. */
  readonly build: { readonly version: string; readonly commit: string | null } | null;
  readonly samples: readonly Sample[];
  readonly orders: readonly LoggedOrder[];
}

/** A command for the admin function. */
export type Command = { readonly op: string; readonly queue: string; readonly [field: string]: unknown };

/** What the admin function answers to a command. */
export type Answer =
  | { readonly ok: true; readonly result: Readonly<Record<string, any>> }
  | { readonly ok: false; readonly problem: ProblemBody };
