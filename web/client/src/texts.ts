// What the element says about a state, in English.

import type { WaitRange } from "./answers.js";
import type { PlaceState } from "./types.js";

const HEADLINES: Record<PlaceState["status"], string> = {
  joining: "One moment",
  waiting: "You are in line",
  ready: "It is your turn",
  active: "You are in",
  completed: "Thank you for waiting",
  left: "You have left",
  evicted: "You were removed from the line",
  finished: "This line is over",
  expired: "Your session has ended",
  failed: "This line is not available",
  closed: "Waiting has stopped",
};

/** The headline. */
export function headlineText(state: PlaceState): string {
  if (state.status !== "expired" || !state.isMissedTurn) return HEADLINES[state.status];
  // A wait that lasted longer than the queue allows had no turn.
  return state.reason ? "Your wait has ended" : "You missed your turn";
}

/** What else the visitor should know, or an empty string. */
export function hintText(state: PlaceState): string {
  const { status, connection, problem, otherAccount } = state;
  if (status === "failed") return `${problem?.message}.`;
  if (otherAccount === "new") return "This link is for another account. Your place is kept.";
  if (connection === "offline") return "Your device is offline. Your place is kept.";
  if (connection !== "online") return "No answer yet. Trying again.";
  if (status === "waiting" && !state.estimatedWaitSeconds)
    return "The line stands still. Your place is kept.";
  return status === "waiting" ? "Keep this page open. A reload keeps your place." : "";
}

/** The expected wait, or an empty string if it is not known. */
export function waitText(range: WaitRange | null): string {
  if (!range) return "";
  const [seconds, unit] = range.high < 90 ? [1, "seconds"] : range.high < 7_200 ? [60, "minutes"] : [3_600, "hours"];
  const low = Math.floor(range.low / seconds);
  const high = Math.ceil(range.high / seconds);
  return low === high ? `about ${high} ${unit}` : `${low} to ${high} ${unit}`;
}

/** The time that is left, as minutes and seconds. Empty if it is not known. */
export function countdownText(leftMs: number): string {
  if (Number.isNaN(leftMs)) return "";
  const seconds = Math.max(0, Math.round(leftMs / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
