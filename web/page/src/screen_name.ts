// Which of the page's screens the visitor sees. Pure.

import type { PlaceState } from "../../client/src/types.js";

/** The screens. `data-state` of the body has the name. */
export type ScreenName =
  | "joining"
  | "before"
  | "waiting"
  | "near"
  | "paused"
  | "shut"
  | "turn"
  | "in"
  | "ending"
  | "leaving"
  | "finishing"
  | "left"
  | "completed"
  | "ended"
  | "missed"
  | "gone"
  | "overlong"
  | "evicted"
  | "reset"
  | "full"
  | "closed"
  | "finished"
  | "refused";

/** What the page knows besides the state of the place. */
export interface Context {
  /** A reading of `performance.now()`. */
  readonly nowMs: number;
  /** When the state came. */
  readonly stateAtMs: number;
  /** Until when the visitor may take back that they leave, or 0. */
  readonly undoUntilMs: number;
  /** Whether the visit had a session. */
  readonly wasIn: boolean;
  /** Whether the page was away for long, and is back since a moment. */
  readonly isBack: boolean;
  /** Whether the shop sends the visitor back here again and again. */
  readonly isLooping: boolean;
  /** Whether the page never claims a turn by itself. */
  readonly isAsking: boolean;
  /** Whether the request to extend the session was refused. */
  readonly isExtendRefused: boolean;
}

/** A wait below this is told in seconds. */
const NEAR_SECONDS = 60;
/** The session is about to end. */
const ENDING_MS = 60_000;
/** With these codes nobody new may enter for now, and the page looks again by itself. */
export const CLOSED_CODES: readonly string[] = ["queue-closed", "queue-draining"];
/** With these codes the place does not exist any more, because an operator has reset the queue. */
const RESET_CODES: readonly string[] = ["unknown-entry", "token-owner-mismatch"];

/** The expected wait now in seconds: shorter by the time since the state came. `null` if it is not known. */
export function waitNow(state: PlaceState, { nowMs, stateAtMs }: Context): { low: number; high: number } | null {
  if (state.status !== "waiting" || !state.estimatedWaitSeconds) return null;
  const { low, high } = state.estimatedWaitSeconds;
  const ageSeconds = (nowMs - stateAtMs) / 1_000;
  return { low: Math.max(0, low - ageSeconds), high: Math.max(1, high - ageSeconds) };
}

/** The screen for a state. */
export function nameScreen(state: PlaceState, context: Context): ScreenName {
  const { status, problem, queue } = state;
  const { nowMs } = context;
  const code = problem?.code ?? "";
  if (context.undoUntilMs > 0) return status === "active" ? "finishing" : "leaving";
  switch (status) {
    case "joining":
      if (code === "queue-full") return "full";
      return queue.state === "scheduled" ? "before" : "joining";
    case "waiting":
      if (queue.state === "scheduled") return "before";
      if (queue.state === "paused") return "paused";
      if (queue.state === "closed") return "shut";
      return (waitNow(state, context)?.high ?? Infinity) < NEAR_SECONDS ? "near" : "waiting";
    case "ready":
      return "turn";
    case "active":
      return state.endsAtMs - nowMs <= ENDING_MS ? "ending" : "in";
    case "expired":
      if (state.reason) return "overlong";
      if (!state.isMissedTurn) return "ended";
      return state.endsAtMs > nowMs ? "missed" : "gone";
    case "failed":
      return CLOSED_CODES.includes(code) ? "closed" : RESET_CODES.includes(code) ? "reset" : "refused";
    case "left":
      return context.wasIn ? "completed" : "left";
    case "closed":
      return "joining";
    default:
      return status;
  }
}
