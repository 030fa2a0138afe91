// What the follower asks its caller to do, and the answer to it.

import type { Refusal } from "./problem.js";

/** A request about the entry, or for the public document. */
export type RequestKind = "enter" | "status" | "claim" | "leave" | "close" | "extend" | "document";

/** A request, and when to send it. `holdSeconds`: how long the server may hold a poll. */
export interface FollowerRequest {
  readonly kind: RequestKind;
  readonly atMs: number;
  readonly holdSeconds?: number;
}

/** The answer to a request. `body` is an entry or a document if it `isOk`, and otherwise a problem. */
export interface Answer extends Refusal {
  readonly kind: RequestKind;
  readonly isOk: boolean;
  /** Whose place it is about. */
  readonly account?: string;
}
