// What the operator does about what the numbers say. Pure.

import type { OrderName } from "./orders.js";
import { compareWaits, meanError, toldFactor } from "./samples.js";
import type { Speech } from "./sentences.js";
import type { Detail } from "./types.js";

// A limit without a sentence here needs nothing from an operator.
const ADVISED = ["capacity", "presence", "pace", "service", "journal", "clock"];

// Waits that were told this well on average need no word.
const ERROR_MAX = 0.25;

/** The order of the first button: the one that the state of a queue suggests. A queue that is over lets in no visitor to pause. */
export function firstOrder({ stats, settings }: Pick<Detail, "stats" | "settings">): OrderName {
  if (stats.state === "finished") return "report";
  if (stats.state === "closed") return "open";
  return (settings?.paused ?? stats.state === "paused") ? "resume" : "pause";
}

/** Why visitors do not come in as the pace says, and what to do about it; empty if they do. */
export function queueAdvice({ stats }: Pick<Detail, "stats">, { say, format }: Speech): string {
  const { state, limited_by: limit, capacity } = stats;
  if (limit === "clock") return say("advice_clock");
  if (state === "paused" || state === "closed") return say(`advice_${state}`);
  const isMoving = state === "open" || state === "draining";
  return isMoving && limit && ADVISED.includes(limit) ? say(`advice_${limit}`, { capacity: format.count(capacity) }) : "";
}

/** How the waits that visitors were told compare with those that they had: the key of the sentence, and its values. */
export function waitsWords(points: ReturnType<typeof compareWaits>, { format }: Speech): { key: string; values: Record<string, string> } {
  const [error, factor] = [meanError(points), toldFactor(points)];
  if (error === null || factor === null) return { key: "chart_waits_unknown", values: {} };
  const isLong = factor >= 1;
  const values = { error: format.percent(error), factor: format.rate(isLong ? factor : 1 / factor) };
  if (error <= ERROR_MAX) return { key: "chart_waits", values };
  return { key: Math.abs(factor - 1) <= ERROR_MAX ? "chart_waits_mixed" : isLong ? "chart_waits_long" : "chart_waits_short", values };
}
