// The sentences under the numbers. Pure: numbers in, texts out.

import type { ConsoleFormat } from "./format.js";
import { arrivalsPerSecond } from "./samples.js";
import type { Detail, Health, Message, Settings } from "./types.js";
import type { OperatorOrder, QueueRow, QueueStats } from "./wire.js";

/** Returns the sentence of a key with its values. `number` chooses the plural form. */
export type Say = (key: string, values?: Record<string, string>, number?: number) => string;

/** How a language says things. */
export interface Speech {
  readonly say: Say;
  readonly format: ConsoleFormat;
}

/** How urgent a state is, for its colour beside its word. */
export type Tone = "go" | "still" | "warn";

const TONES: Record<string, Tone> = { open: "go", scheduled: "still", paused: "warn", draining: "still", closed: "warn", finished: "still" };

/** The word of a queue's state. */
export function stateWord(row: QueueRow, { say }: Speech): { text: string; tone: Tone } {
  if (row.problem) return { text: say("state_unknown"), tone: "warn" };
  if (row.clocks_apart) return { text: say("state_clocks"), tone: "warn" };
  const state = row.state ?? "open";
  return { text: say(`state_${state}`), tone: TONES[state] ?? "still" };
}

/** The facts beside the state: the times to come, and the mode if it is not the usual one, and the build. */
export function queueFacts({ stats, settings, build, now_ms }: Detail, { say, format }: Speech): string {
  const when = (atMs: number) => format.when(atMs, now_ms);
  const isComing = (atMs: number | null | undefined): atMs is number => typeof atMs === "number" && atMs > now_ms;
  const { opens_at_ms, closes_at_ms, ends_at_ms } = settings ?? {};
  return [
    isComing(opens_at_ms) ? say("fact_opens", { time: when(opens_at_ms) }) : "",
    isComing(closes_at_ms) ? say("fact_closes", { time: when(closes_at_ms) }) : "",
    isComing(ends_at_ms) ? say("fact_ends", { time: when(ends_at_ms) }) : "",
    stats.mode === "passthrough" ? say("mode_passthrough") : settings?.before_opening === "draw" ? say("mode_draw") : "",
    build ? say("fact_build", { build: [build.version, build.commit].filter(Boolean).join(" ") }) : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** The middle of the estimate for the last in line, in seconds. */
export function estimatedSeconds({ estimated_wait_seconds: estimate }: QueueStats): number | null {
  if (estimate === null) return null;
  const { low, high } = estimate;
  return (low + high) / 2;
}

/** The pace in force, such as "20 each 10 s". */
export function paceWords(stats: QueueStats, settings: Settings | null, { say, format }: Speech): string {
  if (stats.mode === "passthrough") return say("pace_all");
  const values = { batch: format.count(stats.batch), seconds: format.count(settings?.interval_seconds ?? NaN) };
  return settings ? say("pace_in_force", values) : values.batch;
}

function waitingSentence({ stats, samples, now_ms }: Detail, { say, format }: Speech): string {
  const arriving = arrivalsPerSecond(samples, now_ms);
  const parts = arriving === null ? [] : [say("arriving", { rate: format.rate(arriving) })];
  const seconds = estimatedSeconds(stats);
  if (stats.state === "paused" || stats.state === "scheduled" || stats.state === "closed") parts.push(say("none_let_in"));
  else if (stats.waiting === 0) parts.push(say("line_empty"));
  else if (seconds === null) parts.push(say("wait_unknown"));
  else parts.push(say("last_in", { time: format.when(now_ms + seconds * 1_000, now_ms) }));
  return parts.join(" · ");
}

function insideSentence({ active, ready, held, capacity, mode }: QueueStats, { say, format }: Speech): string {
  if (mode === "passthrough") return say("inside_passthrough");
  const taken = active + ready + held;
  const values = { ready: format.count(ready), held: format.count(held), free: format.count(capacity - taken), over: format.count(taken - capacity) };
  return [
    ready ? say("inside_ready", values, ready) : "",
    held ? say("inside_held", values, held) : "",
    taken > capacity ? say("inside_over", values) : taken < capacity ? say("inside_free", values, capacity - taken) : say("inside_full"),
  ]
    .filter(Boolean)
    .join(" · ");
}

// What else became of visits, in the order of the sentence.
const ENDS = ["left", "no_shows", "returned", "expired", "evicted", "dismissed"] as const;

/** The sentence that matters under each count. */
export function floorSentences(detail: Detail, speech: Speech): Record<string, string> {
  const { stats, settings } = detail;
  const { say, format } = speech;
  const { totals } = stats;
  const seconds = (value: number | undefined) => format.span((value ?? NaN) * 1_000);
  const hasPresence = (settings?.presence_seconds ?? 1) > 0;
  const missed = totals.promoted > 0 ? say("no_show_share", { share: format.percent(totals.no_shows / totals.promoted) }) : "";
  const claim = settings ? say("claim_within", { time: seconds(settings.claim_seconds) }) : "";
  return {
    waiting: waitingSentence(detail, speech),
    called: say(hasPresence ? "called_note" : "presence_off"),
    present: settings && hasPresence ? say("present_note", { time: seconds(settings.presence_seconds) }) : say("presence_off"),
    absent: settings && hasPresence ? say("absent_note", { time: seconds(settings.absent_seconds) }) : say("presence_off"),
    ready: [claim, missed].filter(Boolean).join(" · "),
    inside: insideSentence(stats, speech),
    done: ENDS.flatMap((name) => (totals[name] ? [say(`ended_${name}`, { count: format.count(totals[name]) })] : [])).join(" · "),
  };
}

/**
 * What is not well, each with what follows from it; one line if all is well. The console of a stack measures neither line nor backup
 * (`isMeasured`), and the promoter may sleep unless visitors wait (`isBusy`).
 */
export function healthLines({ line_ms, backup_ms, tick_age_ms, problem }: Health, { isMeasured, isBusy }: { isMeasured: boolean; isBusy: boolean }, { say, format }: Speech): { text: string; isWell: boolean }[] {
  const ofPart = (name: string, ms: number | null) =>
    ms === null ? (isMeasured ? say(`health_${name}_gone`) : "") : ms > SLOW_MS ? say(`health_${name}_slow`, { time: format.milliseconds(ms) }) : "";
  const tick = tick_age_ms === null ? (isBusy ? say("health_tick_gone") : "") : tick_age_ms > TICK_AGE_MS_MAX ? say("health_tick_late", { time: format.span(tick_age_ms) }) : "";
  const failed = [ofPart("line", line_ms), ofPart("backup", backup_ms), tick, problem ?? ""].filter(Boolean);
  return failed.length ? failed.map((text) => ({ text, isWell: false })) : [{ text: say(isMeasured ? "health_well" : "health_answers"), isWell: true }];
}

/** A part that takes longer than this for a round trip slows visitors down. */
const SLOW_MS = 1_000;

/** A tick that is older than this is late: the promoter ticks each second, and a parked one each minute. */
const TICK_AGE_MS_MAX = 65_000;

/** The text of a message that the operator reads: that of the operator's language, or of the default one. */
export function messageText(message: Message | undefined, language: string): string {
  if (!message) return "";
  if (typeof message === "string") return message;
  return message[language] ?? message[message["default"] ?? "en"] ?? Object.entries(message).find(([tag]) => tag !== "default")?.[1] ?? "";
}

/** What an order of the log did. */
export interface Happening {
  readonly order: OperatorOrder;
  readonly atMs: number;
  readonly title: string;
  readonly effect: string;
}

const PACE_NAMES = ["batch", "interval_seconds", "capacity"] as const;

function settingsWords(settings: Record<string, unknown>, before: Readonly<Record<string, unknown>>, speech: Speech): string {
  const { say, format } = speech;
  const written = Object.entries(settings).map(([name, value]) => {
    if (name === "message") return value === null ? say("effect_no_message") : `“${messageText(value as Message, speech.format.locale.slice(0, 2))}”`;
    const shown = (value: unknown) => (name.endsWith("_at_ms") && typeof value === "number" ? format.moment(value) : typeof value === "number" ? format.count(value) : JSON.stringify(value));
    return `${name} ${name in before ? `${shown(before[name])} → ` : ""}${shown(value)}`;
  });
  return written.join(", ");
}

function readArguments(text: string): Record<string, any> | undefined {
  try {
    return text ? JSON.parse(text) : {};
  } catch {
    // The log cuts long fields off.
    return undefined;
  }
}

/** Says what each order did, the newest first. */
export function describeOrders(orders: readonly OperatorOrder[], speech: Speech): Happening[] {
  const { say, format } = speech;
  let pausedAtMs: number | undefined;
  const happenings = orders.map((order) => {
    const given = readArguments(order.arguments);
    const settings = given?.["settings"] as Record<string, unknown> | undefined;
    const isMessage = order.op === "update" && settings && Object.keys(settings).join() === "message";
    const isPace = order.op === "update" && settings && Object.keys(settings).every((name) => PACE_NAMES.includes(name as "batch"));
    const name = isMessage ? "message" : isPace ? "pace" : order.op;
    const op = say(`did_${name}`) || order.op;
    const title = order.caller ? say("did_by", { what: op, who: order.caller }) : op;
    let effect = "";
    if (order.op === "resume" && pausedAtMs !== undefined) effect = say("effect_paused_for", { time: format.span(order.at_ms - pausedAtMs) });
    else if (!given) effect = order.arguments;
    else if (settings) effect = order.op === "create" ? "" : settingsWords(settings, order.settings_before ?? {}, speech);
    else effect = Object.entries(given).map(([field, value]) => `${field} ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ");
    if (order.tokens?.length) effect = [say("effect_tokens", { tokens: order.tokens.join(", ") }), effect].filter(Boolean).join(" · ");
    if (order.op === "pause") pausedAtMs ??= order.at_ms;
    if (order.op === "resume") pausedAtMs = undefined;
    return { order, atMs: order.at_ms, title, effect };
  });
  return happenings.reverse();
}
