// What the server of the console answers. A value that the admin function does not have is `null`.

import type { ProblemBody } from "../../client/src/problem.js";
import type { OperatorOrder, QueueRow, QueueState, QueueStats, Results, WaitEstimate } from "./wire.js";

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
  readonly queues: readonly { readonly queue: string; readonly row: QueueRow; readonly waiting: readonly number[] }[];
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
  readonly estimated_wait_seconds: WaitEstimate | null;
  /** The mean wait of those who were promoted since the sample before. */
  readonly had_wait_seconds: number | null;
}

/** One queue. */
export interface Detail {
  readonly queue: string;
  readonly now_ms: number;
  readonly stats: QueueStats;
  readonly settings: Settings | null;
  /** What identifies the settings; `update` refuses a setting that has changed since. */
  readonly revision: string | null;
  /** Which build answers. */
  readonly build: { readonly version: string; readonly commit: string | null } | null;
  readonly samples: readonly Sample[];
  readonly orders: readonly OperatorOrder[];
}

/** The name of a command. */
export type Operation = keyof Results;

/** A command for the admin function. */
export type Command<Op extends Operation = Operation> = { readonly op: Op; readonly queue: string; readonly [field: string]: unknown };

/** What the admin function answers to a command. */
export type Answer<Op extends Operation = Operation> =
  | { readonly ok: true; readonly result: Results[Op] }
  | { readonly ok: false; readonly problem: ProblemBody };
