// What a change of settings means, and who else has changed them: for the operator to read before the order. Pure.

import { toMoment, type Seen, type Values } from "./orders.js";
import { messageText, type Speech } from "./sentences.js";
import type { Detail, Message, Settings } from "./types.js";
import type { OperatorOrder } from "./wire.js";

/** A number that becomes more than so many times larger or smaller is asked about once more. */
const FACTOR_MAX = 3;

/** How long after an order its settings are offered to be set back, in milliseconds. */
const SET_BACK_MS = 600_000;

const SETTABLE = ["update", "pause", "resume", "drain", "open"];
// An order that has ended visits or the line cannot be taken back.
const ENDED = ["closed", "finished"];

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** Whether an order of the log is offered to be set back: one that changed settings alone, and moments ago. */
export function canSetBack(order: OperatorOrder, { now_ms, stats, settings, orders }: Detail): boolean {
  const before = order.settings_before;
  if (!before || !order.revision || !SETTABLE.includes(order.op) || now_ms - order.at_ms > SET_BACK_MS) return false;
  if (stats.state === "finished") return false;
  // A later order for the same setting meant another value than the one before both.
  const isOvertaken = orders.some(({ at_ms, settings_before: later }) => at_ms > order.at_ms && later && Object.keys(before).some((name) => name in later));
  if (isOvertaken) return false;
  if ("entrance" in before && !["open", "draining"].includes(String(before["entrance"]))) return false;
  if ("ends_at_ms" in before && ENDED.includes(stats.state)) return false;
  return settings !== null && Object.entries(before).some(([name, value]) => !isSame(settings[name as keyof Settings], value));
}

/** One setting in words: its label, and its value; with `now`, the value that it has at the moment before that. */
export function settingWords(name: string, value: unknown, speech: Speech, now?: unknown): string {
  const { say } = speech;
  const change = now === undefined ? "" : `${valueWords(name, now, speech)} → `;
  return `${say(`field_${name}`) || name}: ${change}${valueWords(name, value, speech)}`;
}

function valueWords(name: string, value: unknown, { say, format }: Speech): string {
  return (
    value === null ? say("setting_none")
    : name === "message" ? `“${messageText(value as Message, format.locale.slice(0, 2))}”`
    : name.endsWith("_at_ms") && typeof value === "number" ? format.moment(value)
    : typeof value === "number" ? format.count(value)
    : typeof value === "string" ? value
    : JSON.stringify(value)
  );
}

/** The changes that are so large that they may be a slip of the finger, each as a question. */
export function findDoubts(settings: Readonly<Record<string, unknown>>, seen: Settings | null, { say, format }: Speech): string[] {
  return Object.entries(settings).flatMap(([name, after]) => {
    const before = seen?.[name as keyof Settings];
    if (typeof before !== "number" || typeof after !== "number" || name.endsWith("_at_ms")) return [];
    const isLarge = after === 0 || after > before * FACTOR_MAX || after * FACTOR_MAX < before;
    return isLarge ? [say("doubt", { field: say(`field_${name}`) || name, after: format.count(after), before: format.count(before) })] : [];
  });
}

/** What the times of the dialog mean now. */
export function describeTimes(values: Values, seen: Settings | null, nowMs: number, { say }: Speech): string {
  const at = (name: string) => toMoment(values[name]);
  const isNow = (name: string) => (at(name) ?? Infinity) <= nowMs;
  const waits = (seen?.opens_at_ms ?? 0) > nowMs;
  return [
    waits && (at("opens_at_ms") ?? 0) <= nowMs ? say("times_opens_now") : "",
    !waits && (at("opens_at_ms") ?? 0) > nowMs ? say("times_opens_later") : "",
    isNow("closes_at_ms") ? say("times_closes_now") : "",
    isNow("ends_at_ms") ? say("times_ends_now") : "",
  ]
    .filter(Boolean)
    .join(" ");
}

/** The settings of an open dialog that have changed since it was opened, each as a sentence. */
export function describeOvertakers(touched: readonly string[], seen: Seen, now: Detail, speech: Speech): string[] {
  const { say, format } = speech;
  if (!seen.settings || !now.settings) return [];
  return touched.flatMap((name) => {
    const [before, after] = [seen.settings, now.settings].map((settings) => settings![name as keyof Settings]);
    if (isSame(before, after)) return [];
    const setting = settingWords(name, after, speech);
    const order = now.orders.findLast(({ settings_before }) => settings_before && name in settings_before);
    if (!order) return [say("overtaken_by_hand", { setting })];
    return [say("overtaken", { setting, who: order.caller ?? say("someone"), time: format.when(order.at_ms, now.now_ms) })];
  });
}

/** How many an end of the line concerns. */
export function finishWords({ stats }: Detail, { say, format }: Speech): string {
  const { waiting, absent, ready, active } = stats;
  return say("finish_counts", { waiting: format.count(waiting + absent), absent: format.count(absent), inside: format.count(ready + active) });
}
