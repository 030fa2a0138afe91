// Every screen of the waiting page, by answers that the tests make up, so that all of them can be seen without waiting.
// Tests with the real server show that its answers lead to these screens.

import type { Page, Route } from "@playwright/test";

import type { Json } from "./queue.js";

/** An answer of the API. Without a status it is 200; a status of 0 is a connection that fails. */
interface Answer {
  readonly status?: number;
  readonly body: Json;
}

/** What leads to a screen. */
export interface Scene {
  /** The name of the screen, in `data-state`. */
  readonly screen: string;
  /** A word of the English screen. */
  readonly text: RegExp;
  readonly document?: Json;
  /** The answers to the requests about the entry, in their order. The last one is repeated. */
  readonly entry: readonly Answer[];
  /** What the visitor does. */
  readonly act?: (page: Page) => Promise<void>;
}

const TOKEN = "0a0b0c0d-0000-4000-8000-000000000001";
const FAR_MS = 600_000;
// After this time a client near the head asks again.
const NEXT_MS = 400;

const publicDocument = (changes: Json = {}): Json => ({
  ...{ queue: "q", state: "open", entrance: "open", epoch: 1, min_epoch: 1, generation: 1, now_ms: Date.now() },
  ...{ refresh_near_ms: 3_000, refresh_far_ms: FAR_MS, resync_ms: 1_000, waiting: 1_205, full: false, paused: false },
  ...{ mode: "queue", rate: 0.2, estimated_waits: [], lanes: {} },
  ...changes,
});

const entry = (changes: Json = {}): Answer => ({
  body: {
    ...{ queue: "q", token: TOKEN, visit: 7, queue_state: "open", state: "waiting", degraded: false },
    ...{ place: 9_000, lane: 0, gone_ahead: 412, retry_after_ms: FAR_MS },
    ...changes,
  },
});

const waiting = (changes: Json = {}): Answer =>
  entry({ position: 129, waiting: 1_205, look_after_ms: FAR_MS, estimated_wait_seconds: { low: 480, high: 600 }, ...changes });

const problem = (status: number, code: string, changes: Json = {}): Answer => ({
  status,
  body: { status, code, title: code, ...changes },
});

// The visitor waits near the head, and then the visit ends.
const ending = (...last: Answer[]): Answer[] => [waiting({ look_after_ms: undefined, retry_after_ms: NEXT_MS }), ...last];
const active = (leftMs: number, changes: Json = {}): Answer =>
  entry({ state: "active", pass: "p", expires_at_ms: Date.now() + leftMs, expires_in_ms: leftMs, ...changes });

async function leave(page: Page, button: string): Promise<void> {
  await page.locator(`[data-part="${button}"]`).click();
  await page.locator('[data-part="confirm"]').click();
}

// The strip comes after a second.
async function untilLost(page: Page): Promise<void> {
  await page.locator('[data-part="strip"]').waitFor();
}

const MESSAGES = {
  message: "Block B is open now. 500 more seats go on sale at 8:45 PM.",
  messages: {
    ko: "B구역을 열었어요. 20시 45분에 500석이 추가로 판매됩니다.",
    ja: "Bブロックを開放しました。20時45分に500席を追加販売します。",
    ar: "فتحنا القسم ب. ستُطرح 500 مقعد إضافي الساعة 8:45 مساءً.",
  },
};

/** The screens by name. */
export const SCENES: Readonly<Record<string, Scene>> = {
  joining: { screen: "joining", text: /One moment/, entry: [{ status: 0, body: {} }], act: untilLost },
  waiting: { screen: "waiting", text: /128.*people ahead of you.*1,076 behind.*About 8–10 minutes/s, entry: [waiting()] },
  message: { screen: "waiting", text: /500 more seats/, entry: [waiting(MESSAGES)] },
  huge: { screen: "waiting", text: /1,128,450/, entry: [waiting({ position: 1_128_451, waiting: 2_000_000 })] },
  next: { screen: "waiting", text: /You’re next/, entry: [waiting({ position: 1, look_after_ms: undefined })] },
  called: { screen: "waiting", text: /coming up/, entry: [waiting({ position: 40, look_after_ms: undefined })] },
  unknown: { screen: "waiting", text: /isn’t known yet/, entry: [waiting({ estimated_wait_seconds: undefined })] },
  near: {
    screen: "near",
    text: /Almost there.*About \d+–\d+ seconds/s,
    entry: [waiting({ position: 4, look_after_ms: undefined, estimated_wait_seconds: { low: 5, high: 15 } })],
  },
  paused: { screen: "paused", text: /paused/, entry: [waiting({ queue_state: "paused", estimated_wait_seconds: undefined })] },
  shut: { screen: "shut", text: /closed for now/, entry: [waiting({ queue_state: "closed", estimated_wait_seconds: undefined })] },
  lost: { screen: "waiting", text: /Connection lost/, entry: ending({ status: 0, body: {} }), act: untilLost },
  draw: {
    screen: "before",
    text: /Doors open at.*random order.*26:5\d.*18,402 people are here/s,
    get document() {
      const nowMs = Date.now();
      const draw = { draw_commitment: "ab".repeat(32), enter_spread_ms: 0, waiting: 18_402 };
      return publicDocument({ state: "scheduled", now_ms: nowMs, opens_at_ms: nowMs + 27 * 60_000 - 2_000, ...draw });
    },
    entry: [waiting({ queue_state: "scheduled", position: null, place: undefined, waiting: 18_402, estimated_wait_seconds: undefined })],
  },
  scheduled: {
    screen: "before",
    text: /Doors open at.*order of arrival.*2:5\d:/s,
    get document() {
      const nowMs = Date.now();
      return publicDocument({ state: "scheduled", now_ms: nowMs, opens_at_ms: nowMs + 3 * 3_600_000 - 2_000 });
    },
    entry: [waiting({ queue_state: "scheduled", position: null, place: undefined, estimated_wait_seconds: undefined })],
  },
  days: {
    screen: "before",
    text: /Doors open on \w+day, .* at .*2 days 3:0\d:/s,
    get document() {
      const nowMs = Date.now();
      return publicDocument({ state: "scheduled", now_ms: nowMs, opens_at_ms: nowMs + (2 * 24 + 3) * 3_600_000 + 300_000 });
    },
    entry: [waiting({ queue_state: "scheduled", position: null, place: undefined, estimated_wait_seconds: undefined })],
  },
  turn: { screen: "turn", text: /your turn.*enter within 4\d seconds/s, entry: [entry({ state: "ready", claim_in_ms: 48_000 })] },
  in: { screen: "in", text: /You’re in.*4 minutes, \d+ seconds left/s, entry: [active(280_000)] },
  ending: { screen: "ending", text: /5\d seconds left.*need more time/s, entry: [active(58_000)] },
  leaving: { screen: "leaving", text: /Keep my place/, entry: [waiting()], act: (page) => leave(page, "leave") },
  finishing: { screen: "finishing", text: /Keep my session/, entry: [active(280_000)], act: (page) => leave(page, "done") },
  missed: {
    screen: "missed",
    text: /were away.*kept for another 9 minutes, \d+ seconds/s,
    entry: ending(problem(410, "expired", { state: "expired", grace_in_ms: 552_000 })),
  },
  gone: { screen: "gone", text: /has passed/, entry: ending(problem(410, "expired", { state: "expired" })) },
  overlong: { screen: "overlong", text: /wait has ended/, entry: ending(problem(410, "expired", { state: "expired", reason: "overlong-wait" })) },
  ended: {
    screen: "ended",
    text: /session has ended/,
    entry: [active(280_000, { retry_after_ms: NEXT_MS }), problem(410, "expired", { state: "expired" })],
  },
  evicted: { screen: "evicted", text: /organiser/, entry: ending(problem(410, "evicted", { state: "evicted" })) },
  left: { screen: "left", text: /left the line/, entry: ending(problem(410, "left", { state: "left" })) },
  completed: { screen: "completed", text: /All done.*To come back, join the line again/s, entry: [active(280_000, { retry_after_ms: NEXT_MS }), problem(410, "completed", { state: "completed" })] },
  reset: { screen: "reset", text: /starts anew/, entry: ending(problem(404, "unknown-entry")) },
  full: { screen: "full", text: /keep trying/, document: publicDocument({ full: true }), entry: [problem(503, "queue-full")] },
  closed: {
    screen: "closed",
    text: /The line closed at \d+:\d\d\s[AP]M UTC/,
    get document() {
      return publicDocument({ state: "closed", entrance: "closed", closes_at_ms: Date.now() - 780_000 });
    },
    entry: [problem(409, "queue-closed")],
  },
  finished: { screen: "finished", text: /Sold out/, entry: ending(problem(410, "queue-finished", { finish_reason: "sold_out", ...MESSAGES })) },
  refused: { screen: "refused", text: /need a link/, entry: [problem(403, "ticket-required")] },
};

const SCENE_QUEUE = "HALL9:spring";
const THEME = {
  name: "Hall 9",
  texts: {
    en: { event: "Spring concert · General sale" },
    ko: { event: "봄 콘서트 · 일반 예매" },
    ja: { event: "春のコンサート・一般発売" },
    ar: { event: "حفل الربيع · البيع العام" },
  },
};

/**
 * Opens the page in a scene. `theme` replaces the name of a shop and of its event. Answers about the entry wait for
 * `entryGate`.
 */
export async function openScene(
  page: Page,
  base: string,
  { document, entry: answers, act }: Scene,
  { theme = THEME, entryGate }: { theme?: Json; entryGate?: Promise<void> } = {},
) {
  let count = 0;
  await page.route(`${base}/theme.json`, (route) => route.fulfill({ json: theme }));
  await page.route(
    (url) => url.pathname.startsWith("/queues/"),
    async (route) => {
      if (!route.request().url().includes("/entries")) return send(route, { body: document ?? publicDocument() });
      await entryGate;
      if (route.request().method() === "DELETE") return route.fulfill({ status: 204 });
      return send(route, answers[Math.min(count++, answers.length - 1)]!);
    },
  );
  await page.addInitScript(([key, value]) => localStorage.setItem(key!, value!), [`vestibule:start:${SCENE_QUEUE}`, `${TOKEN} 540`]);
  await page.goto(`${base}/?queue=${SCENE_QUEUE}`);
  await act?.(page);
}

async function send(route: Route, { status = 200, body }: Answer): Promise<void> {
  // A page that was closed has no requests.
  const sent = status ? route.fulfill({ status, json: body }) : route.abort("connectionfailed");
  await sent.catch(() => {});
}
