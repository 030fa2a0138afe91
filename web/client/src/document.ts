// What the public document of a queue says about one entry that waits. The functions are pure.
//
// Words: the place of an entry is its permanent order in line, a number that only grows towards the back. The entries
// of a lane up to the place `check_in_through` are called, and those up to `passed_through` have had their turn.

import type { EntryAnswer, PublicDocument, WaitRange } from "./answers.js";
import { PAUSE_MS_MIN, within } from "./bounds.js";
import { isBeforeOpening, type FarEntry } from "./entry.js";
import { chooseMessage } from "./message.js";
import type { QueueSummary, WaitingState } from "./types.js";

/** What every answer says about the queue. The times come from documents alone. */
export type QueueAnswer = Omit<QueueSummary, "opensAtMs" | "closesAtMs" | "isDrawn">;

/** The shortest and the longest interval of reading the document, if the server sets none. */
const REFRESH_NEAR_MS = 3_000;
const REFRESH_FAR_MS = 60_000;
// The longest one, whatever the server says. The jitter comes in addition.
const REFRESH_MS_MAX = 300_000;
/** A visitor reads the document about six times in each halving of the wait. */
const REFRESHES_PER_WAIT = 6;

// The server keeps at least 500 entries of a lane called, or those whose turn comes within 60 s, and four times as many
// if few of them check in.
const WINDOW_ENTRIES_MIN = 500;
const WINDOW_SECONDS = 60;
const WINDOW_GROWTH = 4;
/** An entry at most so many windows behind the boundary is near. */
const WINDOWS_NEAR = 2;
// A place is the lane in 3 bits, 1 after the opening and 0 before it in 1 bit, and the order in 49 bits.
const PHASE_OPEN = 2 ** 49;
const LANE_PLACES = 2 ** 50;
// How often a visitor who does not know the position after the opening reads the document.
const OPENED_WAIT_MS = 60_000;

/**
 * Compares two documents by (generation, epoch, now_ms). The result is negative if `a` is older, and 0 if both are of
 * the same time. An edge of a CDN may return an older copy than another edge.
 */
export function compareDocuments(a: PublicDocument, b: PublicDocument): number {
  return a.generation - b.generation || a.epoch - b.epoch || a.now_ms - b.now_ms;
}

/** Whether the queue was neither restored nor reset between two documents. */
export function isSameEpoch(a: PublicDocument, b: PublicDocument): boolean {
  return a.generation === b.generation && a.epoch === b.epoch;
}

/** What the page shows about the queue, from a document, or from an answer about the entry with another `state`. */
export function summarizeQueue(answer: Omit<Partial<PublicDocument>, "state">, state = ""): QueueAnswer {
  const { messages = {}, limited_by: limitedBy = "", finish_reason: finishReason = "", waiting = NaN } = answer;
  return { state, message: chooseMessage(answer), messages, limitedBy, finishReason, waiting };
}

/** Whether the document calls the entry to check in. */
export function isCalled(entry: EntryAnswer, document: PublicDocument | null): boolean {
  const { place = 0, lane = 0, visit } = entry;
  const { lanes = {}, drawn = PHASE_OPEN + visit } = document ?? {};
  if (!isBeforeOpening(entry)) return (lanes[lane]?.check_in_through ?? -1) >= place;
  // The order follows from the draw, or else from the visit. The lane is not known, so each may be the own one.
  return Object.entries(lanes).some(([number, moved]) => moved.check_in_through >= +number * LANE_PLACES + drawn);
}

/**
 * The position now, from the position and the count `gone_ahead` of the entry's last answer. It is too large by the
 * visitors who left ahead since then. Without that count in the document, it is the position of the answer.
 */
export function positionNow(entry: EntryAnswer, document: PublicDocument): number {
  const { position, lane = 0, gone_ahead: goneAheadBefore = NaN } = entry;
  const goneAhead = (document.lanes[lane]?.gone_ahead ?? goneAheadBefore) - goneAheadBefore;
  return Math.max(1, position! - (goneAhead || 0));
}

/**
 * What the document tells at a position, from the rows at the positions around it. Ahead of the first row and behind the
 * last one, it grows with the position. There has to be a row.
 */
function between<Row extends { readonly position: number }>(rows: readonly Row[], position: number, name: keyof Row): number {
  const at = rows.findIndex((row) => row.position >= position);
  const to = rows[at] ?? rows.at(-1)!;
  const from = rows[at - 1];
  const fromPosition = from?.position ?? 0;
  const value = (from?.[name] ?? 0) as number;
  return value + ((position - fromPosition) / (to.position - fromPosition)) * ((to[name] as number) - value);
}

/**
 * The expected wait at a position as a range in seconds, from those of the document at the positions around it. `null`
 * if the document has none, because the line stands still.
 */
function rangeAt(position: number, lane: number | undefined, document: PublicDocument): WaitRange | null {
  // While other lanes have a part of the promotions, the own one has waits of its own.
  const waits = document.lanes[lane!]?.estimated_waits ?? document.estimated_waits ?? [];
  return waits.length > 0 ? { low: between(waits, position, "low"), high: between(waits, position, "high") } : null;
}

/**
 * How many turns come before the one at a position of the own lane, and whether that is expected only, because lanes share the
 * turns: by the document if it is newer than the entry's last answer, or else by that answer. `null` if the position is not
 * known.
 */
export function aheadOf(
  entry: EntryAnswer | null,
  position: number | null,
  document: PublicDocument | null,
): Pick<WaitingState, "ahead" | "isAheadExpected"> {
  if (!entry || position === null) return { ahead: null, isAheadExpected: false };
  const { lane = 0, position: answered, ahead: told = answered! - 1 } = entry;
  const moved = document?.lanes[lane];
  const rows = moved?.ahead ?? [];
  const ahead = !document ? told! - answered! + position : rows.length > 0 ? Math.round(between(rows, position, "ahead")) : position - 1;
  return { ahead: Math.max(0, ahead), isAheadExpected: (document ? moved : entry)?.ahead_is_expected ?? false };
}

/**
 * The expected wait as a range in seconds: by the document if it is newer than the entry's last answer, or else by that
 * answer. It was told `ageMs` ago, and is shorter by that time. `null` if the line stands still, or if the server knew
 * no estimate.
 */
export function estimate(
  entry: EntryAnswer | null,
  position: number | null,
  document: PublicDocument | null,
  ageMs: number,
): WaitRange | null {
  if (entry?.state !== "waiting") return null;
  const range = document && position !== null ? rangeAt(position, entry.lane, document) : entry.estimated_wait_seconds;
  if (!range) return null;
  const after = (seconds: number) => seconds - ageMs / 1_000;
  return { low: Math.max(0, Math.floor(after(range.low))), high: Math.max(1, Math.ceil(after(range.high))) };
}

/** The bounds of the interval in milliseconds at which the document is read. */
export function refreshBoundsMs(document: PublicDocument | null): { nearMs: number; farMs: number } {
  const { refresh_near_ms: near, refresh_far_ms: far } = document ?? {};
  const nearMs = within(near, REFRESH_NEAR_MS, REFRESH_MS_MAX, PAUSE_MS_MIN);
  return { nearMs, farMs: within(far, Math.max(nearMs, REFRESH_FAR_MS), REFRESH_MS_MAX, nearMs) };
}

/**
 * The interval in milliseconds at which the document is read: a sixth of the expected wait, within the bounds. The wait
 * is the shortest one by the newest document, because a client that expects too long a wait learns late that it is
 * called. Before the first document, it is the middle of that of the entry's answer, which is `ageMs` old.
 */
export function refreshMs(
  entry: EntryAnswer | null,
  ageMs: number,
  position: number | null,
  document: PublicDocument | null,
): number {
  const { nearMs, farMs } = refreshBoundsMs(document);
  const range = entry?.estimated_wait_seconds;
  // A document of before the opening knows no waits, and an answer with a position is newer.
  const waits = document?.opens_at_ms && position !== null ? null : document;
  // Without any expected wait, the first document may tell it, and otherwise the line stands still.
  let expectedMs = range ? (range.low + range.high) * 500 - ageMs : waits ? Infinity : 0;
  if (waits && position !== null) expectedMs = (rangeAt(position, entry?.lane, waits)?.low ?? Infinity) * 1_000;
  else if (document && isBeforeOpening(entry)) {
    expectedMs = document.opens_at_ms ? document.opens_at_ms - document.now_ms : OPENED_WAIT_MS;
  }
  return within(expectedMs / REFRESHES_PER_WAIT, farMs, farMs, nearMs);
}

/**
 * Whether the entry is within two windows of the boundary up to which entries are called. The window is the entries
 * between `passed_through` and `check_in_through`.
 *
 * The client does not see other entries, so it estimates their number in the window. `position` entries are between
 * `passed_through` and its own place. If their places were spread evenly, the window would have the same share of them
 * as of the distance. Places are times of arrival, and a crowd that arrives in one second is not spread evenly. So the
 * estimate is kept between the entries that the server calls at least, and four times as many. An entry is within two
 * windows of the boundary if its position is at most three windows.
 */
export function isNearBoundary(
  { place, lane }: FarEntry,
  position: number | null,
  document: PublicDocument | null,
): boolean {
  const { check_in_through: calledThrough = 0, passed_through: passedThrough = 0, speed } = document?.lanes[lane] ?? {};
  // Before the first entry has passed, the distance to the own place says nothing about the number of entries.
  const share = passedThrough > 0 ? (calledThrough - passedThrough) / (place - passedThrough) : 0;
  if (position === null) return share >= 1 / (1 + WINDOWS_NEAR);
  const windowMin = Math.max(WINDOW_ENTRIES_MIN, WINDOW_SECONDS * (speed ?? document?.rate ?? 0));
  const windowEntries = within(share * position, windowMin, WINDOW_GROWTH * windowMin, windowMin);
  return position <= (1 + WINDOWS_NEAR) * windowEntries;
}
