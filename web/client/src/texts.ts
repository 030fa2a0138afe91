// What the element says about a state. Pure.

import type { Format } from "./format.js";
import type { PlaceState } from "./types.js";
import type { Words } from "./words.js";

/** The headline. */
export function headlineText(words: Words, state: PlaceState): string {
  const { status } = state;
  // A wait that lasted longer than the queue allows had no turn.
  if (status === "expired") return words.text(state.reason ? "overlong" : state.isMissedTurn ? "gone" : "ended");
  // A reason of the queue's end that has no words here is none.
  const over = status === "finished" && words.text(state.queue.finishReason);
  return over || words.text(status);
}

/** What else the visitor should know, or an empty string. */
export function hintText(words: Words, { status, connection, problem, otherAccount, isUnstored }: PlaceState): string {
  if (status === "failed") return words.text(problem?.code ?? "") || words.text("refusedLead");
  if (otherAccount === "new") return words.text("accountLead");
  if (connection !== "online") return words.text(connection) || words.text("lost");
  return status === "waiting" ? words.text(isUnstored ? "unstored" : "stored") : "";
}

/** The expected wait, or why there is none. Empty for a visitor who does not wait. */
export function waitText(words: Words, format: Format, state: PlaceState): string {
  if (state.status !== "waiting") return "";
  const { estimatedWaitSeconds: wait, queue } = state;
  if (queue.state === "paused") return words.text("paused");
  if (queue.state === "closed") return words.text("shut");
  return wait ? words.text("about", { r: format.range(wait.low, wait.high) }) : words.text("unknown");
}

/** The time that is left. Empty if it is not known. */
export const countdownText = (format: Format, leftMs: number): string => (Number.isNaN(leftMs) ? "" : format.left(leftMs));
