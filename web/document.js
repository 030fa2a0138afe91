// What the public document of a queue says about one entry that waits. The functions are pure.
//
// Words: the place of an entry is its permanent order in line, a number that only grows towards the back. The entries
// of a lane up to the place `check_in_through` are called, and those up to `passed_through` have had their turn.

/** The shortest and the longest interval of reading the document, if the server sets none. */
const REFRESH_NEAR_MS = 3_000;
const REFRESH_FAR_MS = 60_000;
/** A visitor reads the document about six times in each halving of the wait. */
const REFRESHES_PER_WAIT = 6;

// The server keeps at least 500 entries of a lane called, or those whose turn comes within 60 s, and four times as many
// if few of them check in.
const WINDOW_ENTRIES_MIN = 500;
const WINDOW_SECONDS = 60;
const WINDOW_GROWTH = 4;
/** An entry at most so many windows behind the boundary is near. */
const WINDOWS_NEAR = 2;
/** Ahead of the first position with an expected wait, and behind the last one, the wait grows with the position. */
const HEAD = { position: 0, low: 0, high: 0 };

/**
 * Compares two documents by (generation, epoch, now_ms). The result is negative if `a` is older, and 0 if both are of
 * the same time. An edge of a CDN may return an older copy than another edge.
 */
export function compareDocuments(a, b) {
  return a.generation - b.generation || a.epoch - b.epoch || a.now_ms - b.now_ms;
}

/** Whether a document has what following it needs. A document of an older server does not. */
export function isFollowable(document) {
  const { generation, epoch, now_ms: nowMs, lanes } = document ?? {};
  return [generation, epoch, nowMs].every(Number.isFinite) && typeof lanes === "object" && lanes !== null;
}

/** Whether the queue was neither restored nor reset between two documents. */
export function isSameEpoch(a, b) {
  return a.generation === b.generation && a.epoch === b.epoch;
}

/** What the page shows about the queue, from a document. */
export function summarizeQueue({ state, entrance, paused: isPaused, message = "", limited_by, target_url }) {
  // The document of an older server has no state.
  const stateByFlags = entrance === "closed" ? "closed" : isPaused ? "paused" : entrance;
  return { state: state ?? stateByFlags, message, limitedBy: limited_by ?? "", targetUrl: target_url ?? "" };
}

/** Whether the document calls the entry to check in. */
export function isCalled({ place, lane }, document) {
  return document?.lanes[lane]?.check_in_through >= place;
}

/**
 * The position now, from the position and the count `gone_ahead` of the entry's last answer. It is too large by the
 * visitors who left ahead since then. Without that count in the document, it is the position of the answer.
 */
export function positionNow({ position, lane, gone_ahead: goneAhead0 }, document) {
  const goneAhead = (document?.lanes[lane]?.gone_ahead ?? goneAhead0) - goneAhead0;
  return Number.isFinite(goneAhead) ? Math.max(1, position - goneAhead) : position;
}

// How many positions the line moves per second. Entries that are passed over count as well, so this is more than the
// promotions per second, which are all that the document of an older server tells. `null` if it is not known.
function speedOf(lane, document) {
  return document?.lanes?.[lane]?.speed ?? document?.rate ?? null;
}

/**
 * The expected wait at a position as a range in seconds, from those of the document at the positions around it. `null` if
 * the document has none, because the line stands still. `undefined` if it is of an older server, which never has any.
 */
function rangeAt(position, { estimated_waits: waits }) {
  if (!waits) return undefined;
  if (waits.length === 0) return null;
  const at = waits.findIndex((wait) => wait.position >= position);
  const [from, to] = at < 0 ? [HEAD, waits.at(-1)] : [waits[at - 1] ?? HEAD, waits[at]];
  const share = (position - from.position) / (to.position - from.position);
  const between = (end) => from[end] + share * (to[end] - from[end]);
  return { low: between("low"), high: between("high") };
}

/**
 * The shortest expected wait in milliseconds by the document: `Infinity` if the line stands still, and `null` if the
 * document does not tell.
 */
export function shortestWaitMs(position, lane, document) {
  const { paused: isPaused, state } = document ?? {};
  if (isPaused || state === "paused" || state === "closed") return Infinity;
  if (!document || position === null) return null;
  const range = rangeAt(position, document);
  if (range !== undefined) return range === null ? Infinity : range.low * 1_000;
  const speed = speedOf(lane, document);
  return speed === null ? null : (position / speed) * 1_000;
}

/**
 * The expected wait as a range in seconds: by the document if it is newer than the entry's last answer, or else by that
 * answer. It was told `ageMs` ago, and is shorter by that time. `null` if the line stands still, or if the server knew no
 * estimate.
 */
export function estimate(entry, position, document, ageMs) {
  if (entry?.state !== "waiting") return null;
  const range = document ? rangeByDocument(entry, position, document) : entry.estimated_wait_seconds;
  if (!range) return null;
  const after = (seconds) => seconds - ageMs / 1_000;
  return { low: Math.max(0, Math.floor(after(range.low))), high: Math.max(1, Math.ceil(after(range.high))) };
}

function rangeByDocument({ estimated_wait_seconds: answered, lane }, position, document) {
  const expectedMs = shortestWaitMs(position, lane, document);
  if (expectedMs === Infinity) return null;
  if (expectedMs === null || !answered) return rangeAt(position, document) ?? answered;
  // The document of an older server: the range of the answer is scaled to the position and the speed.
  const scale = expectedMs / Math.max(1, middleMs(answered));
  return rangeAt(position, document) ?? { low: answered.low * scale, high: answered.high * scale };
}

function middleMs({ low, high }) {
  return ((low + high) / 2) * 1_000;
}

/** The bounds of the interval in milliseconds at which the document is read. */
export function refreshBoundsMs(document) {
  const { refresh_near_ms: nearMs = REFRESH_NEAR_MS, refresh_far_ms: farMs = REFRESH_FAR_MS } = document ?? {};
  return { nearMs, farMs: Math.max(nearMs, farMs) };
}

/**
 * The interval in milliseconds at which the document is read: a sixth of the expected wait, within the bounds. The wait is
 * the shortest one by the newest document, because a client that expects too long a wait learns late that it is called.
 * Before the first document, it is that of the entry's answer, which is `ageMs` old.
 */
export function refreshMs(entry, ageMs, position, document) {
  const { nearMs, farMs } = refreshBoundsMs(document);
  const range = entry?.estimated_wait_seconds;
  // Without any expected wait, the first document may tell it, and otherwise the line stands still.
  const byAnswerMs = range ? middleMs(range) - ageMs : document ? Infinity : 0;
  const expectedMs = shortestWaitMs(position, entry?.lane, document) ?? byAnswerMs;
  return Math.min(farMs, Math.max(nearMs, expectedMs / REFRESHES_PER_WAIT));
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
export function isNearBoundary({ place, lane }, position, document) {
  const { check_in_through: calledThrough, passed_through: passedThrough } = document?.lanes[lane] ?? {};
  // Before the first entry has passed, the distance to the own place says nothing about the number of entries.
  const share = passedThrough > 0 ? (calledThrough - passedThrough) / (place - passedThrough) : 0;
  if (position === null) return share >= 1 / (1 + WINDOWS_NEAR);
  const windowMin = Math.max(WINDOW_ENTRIES_MIN, WINDOW_SECONDS * (speedOf(lane, document) ?? 0));
  const windowByPlaces = share * position || 0;
  const windowEntries = Math.min(WINDOW_GROWTH * windowMin, Math.max(windowMin, windowByPlaces));
  return position <= (1 + WINDOWS_NEAR) * windowEntries;
}
