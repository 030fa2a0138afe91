// The operator's console in a browser: states with numbers in the shape of real answers, and orders at the real runner.

import { expect, type Page } from "@playwright/test";

import type { Json } from "./queue.js";

const MINUTE_MS = 60_000;
const STEP_MS = 5_000;

/** What the server answers in one state of the console. */
export interface ConsoleScene {
  readonly overview: Json;
  readonly detail: Json;
}

const totals = { absences: 0, bypassed: 0, claimed: 8_640, completed: 8_214, dismissed: 0, entered: 21_900, evicted: 12, expired: 88, fast_tracked: 0, left: 214, no_shows: 531, overlong_waits: 0, promoted: 8_755, returned: 402 };
const stays = { count: 8_528, sum_ms: 8_528 * 190_000, p50_ms: 172_000, p90_ms: 266_000 };

const STATS: Json = {
  ...{ queue: "TIMEDEAL:123", state: "open", mode: "queue", waiting: 12_480, called: 212, present: 190, absent: 22 },
  ...{ ready: 38, active: 462, held: 0, capacity: 500, batch: 20, full: false, service_down: false, limited_by: null },
  ...{ served_per_second: 1.98, estimated_wait_seconds: { low: 5_900, high: 6_700 }, epoch: 3, generation: 1, totals, stays },
};

const SETTINGS: Json = {
  ...{ batch: 20, interval_seconds: 10, capacity: 500, session_seconds: 300, claim_seconds: 60, presence_seconds: 90 },
  ...{ absent_seconds: 3_600, lane_share: 10, adaptive: false, before_opening: "fifo", entrance: "open", paused: false },
  ...{ opens_at_ms: null, closes_at_ms: null, ends_at_ms: null, message: { default: "en", en: "Payment is slow. You keep your place.", ko: "결제가 지연되고 있어요. 자리는 유지됩니다." } },
};

// 30 minutes of a sale that grows, with a pause of two minutes.
function makeSamples(nowMs: number): Json[] {
  let [promoted, entered] = [5_100, 6_000];
  return Array.from({ length: 360 }, (_, n) => {
    const age = 359 - n;
    const isPaused = age >= 192 && age < 216;
    if (!isPaused) promoted += n % 2 ? 20 : 0;
    entered += 45;
    const waiting = Math.round(12_480 / (1 + Math.exp(-9 * (n / 360 - 0.42))));
    const wait = 120 + n * 2;
    return {
      ...{ at_ms: nowMs - age * STEP_MS, waiting, called: 212, present: 190, absent: 22, ready: 38, active: 462, held: 0, capacity: 500, batch: 20 },
      ...{ interval_seconds: 10, paused: isPaused, state: isPaused ? "paused" : "open", promoted, entered, completed: promoted - 500, left: 200, no_shows: 500 },
      ...{ estimated_wait_seconds: isPaused ? null : { low: wait * 0.95, high: wait * 1.1 }, had_wait_seconds: isPaused || n % 2 === 0 ? null : wait * 0.9 },
    };
  });
}

const order = (nowMs: number, minutesAgo: number, op: string, fields: Json = {}, caller?: string): Json => ({
  ...{ at_ms: nowMs - minutesAgo * MINUTE_MS, op, generation: 1, arguments: Object.keys(fields).length ? JSON.stringify(fields) : "" },
  ...(caller ? { caller } : {}),
});

const row = (queue: string, state: string, waiting: number): Json => ({
  queue,
  row: { queue, state, waiting, absent: 0, ready: 0, active: 0, held: 0, entrance: "open", paused: state === "paused", mode: "queue", clocks_apart: false },
  waiting: Array.from({ length: 60 }, (_, n) => Math.round((waiting * (n + 1)) / 60)),
});

/** A console with these changes to a moving queue. */
export function makeScene(changes: { stats?: Json; settings?: Json; overview?: Json; detail?: Json } = {}): ConsoleScene {
  const nowMs = Date.now();
  const stats: Json = { ...STATS, now_ms: nowMs, ...changes.stats };
  const settings = { ...SETTINGS, ...changes.settings };
  const own = row("TIMEDEAL:123", stats.state, stats.waiting);
  const others = [row("TICKET:spring-hall", "scheduled", 18_402), row("FLASH:shoes", "paused", 3_310), row("DROP:lp-07", "draining", 214)];
  const failed = { queue: "demo:1", row: { queue: "demo:1", problem: "the line is unavailable" }, waiting: [] };
  return {
    overview: {
      ...{ now_ms: nowMs, interval_seconds: 5, sampled_at_ms: nowMs, queues: [own, ...others, failed] },
      deployment: { kind: "local", name: "local", region: null, page: true, page_url: "/", right: "end" },
      health: { line_ms: 0.4, backup_ms: 3, tick_age_ms: 600, problem: null },
      ...changes.overview,
    },
    detail: {
      ...{ queue: "TIMEDEAL:123", now_ms: nowMs, interval_seconds: 5, stats, settings, samples: makeSamples(nowMs) },
      orders: [
        order(nowMs, 35, "create", { settings: { batch: 20 } }),
        order(nowMs, 19, "update", { settings: { message: { en: "Payment is slow. You keep your place." } } }),
        order(nowMs, 18, "pause", {}, "mina@hall9"),
        order(nowMs, 16, "resume", {}, "mina@hall9"),
        order(nowMs, 2, "update", { settings: { batch: 24 } }, "mina@hall9"),
      ],
      ...changes.detail,
    },
  };
}

/** A console with so many queues: every 40th is paused, every 50th does not answer, and some are in other states. */
export function makeCrowdedScene(count: number): ConsoleScene {
  const stateOf = (n: number) => (n % 40 === 7 ? "paused" : n % 25 === 3 ? "scheduled" : n % 30 === 4 ? "finished" : n % 35 === 5 ? "closed" : "open");
  const more = Array.from({ length: count - 1 }, (_, n) => {
    const queue = `EVENT:${n + 1}`;
    if (n % 50 === 11) return { queue, row: { queue, problem: "the line is unavailable" }, waiting: [] };
    return row(queue, stateOf(n), stateOf(n) === "finished" || stateOf(n) === "closed" ? 0 : (n * 7_919) % 9_000);
  });
  return makeScene({ overview: { queues: [row("TIMEDEAL:123", "open", 12_480), ...more] }, stats: { limited_by: "capacity" } });
}

/** The states of the console by name, each with a text that it must show in English. */
export const CONSOLE_SCENES: Readonly<Record<string, { scene: () => ConsoleScene; text: RegExp }>> = {
  moving: { scene: () => makeScene(), text: /Moving.*12,480.*9 a second arriving.*last one gets in about.*462 \/ 500/s },
  paused: { scene: () => makeScene({ stats: { state: "paused", estimated_wait_seconds: null, limited_by: "switch" }, settings: { paused: true } }), text: /Paused.*No visitor comes in until you resume.*Resume.*no visitor is let in now/s },
  scheduled: {
    scene: () => makeScene({ stats: { state: "scheduled", estimated_wait_seconds: null }, settings: { opens_at_ms: Date.now() + 30 * MINUTE_MS, before_opening: "draw" } }),
    text: /Scheduled.*opens .*drawn before the opening.*not open yet/s,
  },
  full: { scene: () => makeScene({ stats: { limited_by: "capacity", held: 40 } }), text: /All 500 places are taken: visitors come in as others leave. Raise the capacity.*40 places kept.*40 too many until/s },
  finished: { scene: () => makeScene({ stats: { state: "finished", waiting: 0, estimated_wait_seconds: null } }), text: /Finished.*no visitor waits.*the line is over/s },
  unwell: {
    scene: () => makeScene({ overview: { health: { line_ms: null, backup_ms: 3, tick_age_ms: 95_000, problem: "Redis refuses the connection" } } }),
    text: /The line does not answer: no visitor comes in.*The promoter is late.*Redis refuses/s,
  },
  new: { scene: () => makeScene({ detail: { samples: [], orders: [] }, stats: { waiting: 0, active: 0, ready: 0, estimated_wait_seconds: null } }), text: /no visitor waits/ },
  empty: { scene: () => makeScene({ overview: { queues: [] } }), text: /There is no queue yet/ },
  nopage: { scene: () => makeScene({ overview: { deployment: { kind: "stack", name: "shop", region: "eu-central-1", page: false, page_url: null, right: "end" } } }), text: /shop · eu-central-1/ },
  looking: { scene: () => makeScene({ overview: { deployment: { kind: "stack", name: "shop", region: "eu-central-1", page: false, page_url: null, right: "look" } } }), text: /You may look, and give no orders/ },
};

/** Opens the console at this address with these answers. Returns a function that lets the server answer no more. */
export async function openConsoleScene(page: Page, address: string, scene: ConsoleScene): Promise<() => void> {
  const { origin } = new URL(address);
  let isAway = false;
  await page.route(`${origin}/operate/overview`, (route) => (isAway ? route.abort("connectionfailed") : route.fulfill({ json: scene.overview })));
  await page.route(`${origin}/operate/queues/*`, (route) => (isAway ? route.abort("connectionfailed") : route.fulfill({ json: scene.detail })));
  // The scenes have the numbers of one queue.
  await page.goto(scene.overview["queues"].length ? `${address}#${encodeURIComponent(scene.detail["queue"])}` : address);
  await expect(page.locator('[data-part="queues"] li, [data-part="no-queues"]:not([hidden])').first()).toBeVisible();
  return () => {
    isAway = true;
  };
}

/** Opens the console at this address, at a queue. */
export async function openConsole(page: Page, address: string, queue: string): Promise<void> {
  await page.goto(`${address}#${encodeURIComponent(queue)}`);
  await expect(page.locator('[data-part="name"]')).toHaveText(queue);
}

/** Says of each change that may be a slip of the finger that it is meant. */
export async function answerDoubts(page: Page): Promise<void> {
  for (const box of await page.locator("dialog .doubt input").all()) await box.check();
}

/** Opens the dialog of an order, also if its button is in the menu. */
export async function openOrder(page: Page, name: string): Promise<void> {
  const inMenu = page.locator(`#more-orders [data-order="${name}"]`);
  if (await inMenu.count()) {
    await page.locator('[data-part="more-button"]').click();
    await inMenu.click();
  } else await page.locator(`header [data-order="${name}"]`).click();
  await expect(page.locator("dialog")).toBeVisible();
}

/** Gives the order of the open dialog, and expects that it succeeds and says so. */
export async function giveOrder(page: Page, said: RegExp | string): Promise<void> {
  await page.locator('[data-part="give"]').click();
  await expect(page.locator("dialog .outcome h3.ok")).toContainText(said);
}

/** Closes the dialog. */
export async function closeDialog(page: Page): Promise<void> {
  await page.locator('[data-part="dialog-close"]').click();
  await expect(page.locator("dialog")).toBeHidden();
}
