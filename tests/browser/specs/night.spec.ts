// The night of a small sale, operated through the console alone: 2,000 visitors, an attack, an outage, sold out.

import { startSaleServers, type SaleServers } from "../harness/night.js";
import { Operator } from "../harness/operator.js";
import type { Json } from "../harness/queue.js";
import { Attacker, Shoppers, type Shopper } from "../harness/shoppers.js";
import { expect, test } from "../harness/test.js";

const QUEUE = "DROP:lp-07";

// 2,000 visitors: before the opening, after it, during the outage, and those of the attack.
const EARLY = 1_000;
const LATE = 600;
const DURING_OUTAGE = 100;
const ATTACK = 300;
const ENTERED = EARLY + LATE + DURING_OUTAGE + ATTACK;
// Each has 85 visitors, which is far from the attack.
const SOURCES = 20;
const JOINING_MS = 10_000;

const SLOW = { batch: 10, interval_seconds: 1, capacity: 600, session_seconds: 60 };
const FAST = { batch: 25, capacity: 1_500 };
// So many are sold before the sale is sold out.
const STOCK = 700;
// So many are sold between the outage and the end.
const SOLD_AFTER_OUTAGE = 200;

// What takes seconds on a free machine takes tens of them on a busy one.
const BOUND_MS = 60_000;
// The opening is first scheduled so far away that the early visitors are in line before it, also on a busy machine.
const ANNOUNCED_MS = 3_600_000;
const UNTIL_OPENING_MS = 15_000;

// One of so many visitors asks for the place at once after the outage.
const LOOKED_AT_EACH = 5;
// The promoter looks at the line so often.
const TICK_MS = 1_000;

const wasLetIn = (shopper: Shopper): boolean => shopper.wasLetIn;
const hasBought = (shopper: Shopper): boolean => shopper.hasBought;
const isInLine = (shopper: Shopper): boolean => shopper.status === "waiting" && shopper.ranks.size > 0;

let servers: SaleServers;
let operator: Operator;
let shoppers: Shoppers;
let attacker: Attacker;
let opensAtMs: number;
let arrivals: Promise<[Shopper[], Record<string, number>]>;

test.beforeEach(async ({ page }) => {
  servers = await startSaleServers();
  operator = new Operator(page, QUEUE);
  shoppers = new Shoppers(servers.runner, QUEUE, SOURCES);
  attacker = new Attacker(servers.runner, QUEUE);
});

test.afterEach(async () => {
  shoppers?.close();
  await servers?.stop();
});

test("a sale of 2,000 is operated by the console alone @night", async ({ page }) => {
  test.skip(process.platform !== "linux", "visitors choose their sources among the loopback addresses of Linux");
  test.setTimeout(480_000);
  await page.goto(servers.console);
  await test.step("before: the opening is scheduled, and visitors line up", lineUp);
  await test.step("opening: it is brought forward, and happens by itself", expectOpening);
  await test.step("too slow: the pace is raised after reading what follows", raisePace);
  await test.step("attack: its source is found, blocked and evicted", evictAttack);
  await test.step("outage: the console says so, and no place is lost", surviveOutage);
  await test.step("sold out: all who wait are told", finishSale);
  await test.step("after: the reports say what the visitors saw", compareReports);
});

async function lineUp(): Promise<void> {
  await operator.create(SLOW);
  await operator.scheduleOpening(ANNOUNCED_MS);
  await expect(operator.part("state")).toHaveText("Scheduled");
  await expect(operator.part("facts")).toContainText("opens");
  await shoppers.join(EARLY, JOINING_MS);
  await operator.untilCount("waiting", EARLY, BOUND_MS);
  await expect(operator.part("floor")).toContainText("not open yet");
  await expect(operator.part("sees-words")).toContainText("countdown to the opening");
  expect(await operator.readCount("waiting")).toBe(EARLY);
  expect(await operator.readCount("inside")).toBe(0);
  expect(shoppers.count(wasLetIn), "let in before the opening").toBe(0);
}

async function expectOpening(): Promise<void> {
  opensAtMs = await operator.scheduleOpening(UNTIL_OPENING_MS);
  await expect(operator.part("state")).toHaveText("Moving", { timeout: opensAtMs - Date.now() + BOUND_MS });
  expect(Date.now()).toBeGreaterThanOrEqual(opensAtMs);
  await operator.untilCount("done", 10, BOUND_MS);
  const first = Math.min(...shoppers.all.map(({ promotedAtMs = Infinity }) => promotedAtMs));
  expect(first, "the first one is promoted at the opening").toBeGreaterThanOrEqual(opensAtMs);
  // The next visitors and the attack arrive while the operator works.
  arrivals = Promise.all([shoppers.join(LATE, JOINING_MS), attacker.enter(ATTACK)]);
  // A test that fails before it waits for them ends them by stopping the servers.
  arrivals.catch(() => {});
}

async function raisePace(): Promise<void> {
  const held = await operator.tryPace({ batch: FAST.batch });
  expect(held).toMatch(/600 a minute can come in, as before.*need room for 1,500.*pace alone would be 1,500 a minute, but capacity 600 holds it back/s);
  const free = await operator.tryPace({ capacity: FAST.capacity });
  expect(free).toMatch(/The last in line gets in at .* The capacity has room for it/s);
  await operator.setPace();
  await expect(operator.part("floor")).toContainText("25 each 1 s");
  await expect(operator.part("log").locator("li").first()).toContainText(/Pace set by .+ \(console\).*batch.*25, capacity.*1,500/s);
  await expect(operator.page.locator('[data-chart="rate"] svg')).toHaveAttribute("aria-label", /with a pace of 1,500/);
}

async function evictAttack(): Promise<void> {
  const [, refused] = await arrivals;
  expect(refused, "nothing protects the queue yet").toEqual({});
  const row = await operator.openSources();
  const [entries, neverPresent] = await row.locator("td").allInnerTexts();
  expect([entries, neverPresent]).toEqual([String(ATTACK), String(ATTACK)]);
  const second = operator.part("sources").locator("tbody tr").nth(1).locator("td").first();
  expect(Number(await second.innerText()), "an honest source").toBeLessThanOrEqual((EARLY + LATE) / SOURCES);
  await operator.block(row);
  const blocked = await operator.openSources();
  await expect(blocked).toContainText("blocked");
  // They came a moment ago, as visitors do who have had no time to check in. Only the operator knows that none of them is.
  await operator.evictAll(blocked, [
    /This removes 0 entries now, and spares 300 whose/,
    /This removes 300 entries now, and spares 0 whose/,
    /300 removed, 0 spared, 0 remain/,
  ]);
  expect(await attacker.countEnded("evicted"), "attackers who are told so").toBe(ATTACK);
  await expect(operator.page.locator('[data-count="done"]')).toContainText(`${ATTACK} evicted`);
}

async function surviveOutage(): Promise<void> {
  await servers.killRedis();
  const inLine = shoppers.all.filter(isInLine);
  const joining = shoppers.join(DURING_OUTAGE, JOINING_MS);
  // The last numbers stay, and the console says how old they are.
  await expect(operator.part("strip")).toContainText(/Redis.* cannot be reached.*The numbers are as of \d+ sec ago/, { timeout: BOUND_MS });
  const [letIn, done] = [shoppers.count(wasLetIn), await operator.readCount("done")];
  await expect(operator.part("strip")).toContainText(/as of 1\d sec ago/, { timeout: BOUND_MS });
  await expect(operator.part("health")).toContainText("The line does not answer", { timeout: BOUND_MS });
  expect(await operator.readCount("done")).toBe(done);
  expect(shoppers.count(wasLetIn), "let in without a line").toBe(letIn);
  await servers.restartRedis();
  await expect(operator.part("strip")).toBeHidden({ timeout: BOUND_MS });
  await expect(operator.part("health")).not.toContainText("does not answer", { timeout: BOUND_MS });
  await Promise.all(inLine.filter((_, n) => n % LOOKED_AT_EACH === 0).map((shopper) => shopper.look()));
  expectSamePlaces();
  await operator.untilCount("done", done + SOLD_AFTER_OUTAGE, BOUND_MS);
  await joining;
  expect(inLine.length, "visitors in line in the outage").toBeGreaterThan(EARLY / 2);
  expect(inLine.filter(({ status }) => !["waiting", "ready", "active", "closed"].includes(status))).toEqual([]);
  expect(await attacker.enter(20), "the source is blocked after the outage, too").toEqual({ blocked: 20 });
}

async function finishSale(): Promise<void> {
  await expect.poll(() => shoppers.count(hasBought), { message: "sold", timeout: 2 * BOUND_MS }).toBeGreaterThanOrEqual(STOCK);
  await operator.finish();
  await expect(operator.part("state")).toHaveText("Finished");
  await expect.poll(() => operator.readCount("waiting"), { message: "waiting in the console", timeout: BOUND_MS }).toBe(0);
  const isOver = (shopper: Shopper): boolean => shopper.hasBought || shopper.status === "finished";
  await expect.poll(() => shoppers.count((shopper) => !isOver(shopper)), { message: "told nothing", timeout: 2 * BOUND_MS }).toBe(0);
  await expect(operator.part("sees-words")).toContainText("the line is over");
  expectSamePlaces();
  expectOrder();
}

// No visitor was ever told another entry or another place than at first.
function expectSamePlaces(): void {
  const lost = shoppers.all.filter(({ tokens, ranks }) => tokens.size > 1 || ranks.size > 1);
  expect(lost.map(({ tokens, ranks }) => [...tokens, ...ranks]), "visitors with another place").toEqual([]);
}

// No visitor who was there was promoted after one who stood behind. Those who had not asked yet are passed over.
function expectOrder(): void {
  const promoted = shoppers.all
    .flatMap(({ ranks: [rank], presentAtMs, promotedAtMs }) =>
      rank !== undefined && presentAtMs && promotedAtMs ? [{ rank, presentAtMs, promotedAtMs }] : [],
    )
    .sort((a, b) => a.rank - b.rank);
  expect(promoted.length, "visitors who were promoted from a known place").toBeGreaterThan(STOCK / 2);
  const overtaken = promoted.filter(({ presentAtMs, promotedAtMs }, n) =>
    promoted.slice(n + 1).some((behind) => behind.promotedAtMs < promotedAtMs && behind.promotedAtMs > presentAtMs + TICK_MS),
  );
  expect(overtaken, "visitors who were promoted later than those behind them").toEqual([]);
}

async function compareReports(): Promise<void> {
  const letIn = shoppers.count(wasLetIn);
  const dismissed = shoppers.count(({ status }) => status === "finished");
  const seen = { entered: ENTERED, let_in: letIn, completed: letIn, evicted: ATTACK, dismissed, left: 0, expired: 0, no_shows: 0 };
  expect(letIn + dismissed + ATTACK, "each visitor has one end").toBe(ENTERED);

  await expect(operator.page.locator('[data-count="done"] strong')).toHaveText(letIn.toLocaleString("en"));
  const { totals, peak, orders, live } = JSON.parse(await operator.saveReport("json")) as Json;
  expect(totals).toMatchObject(seen);
  expect(peak["waiting"]).toBeGreaterThan(EARLY);
  expect(live).toMatchObject({ waiting: 0, ready: 0, active: 0 });
  expect(orders.map(({ op }: Json) => op)).toEqual(["create", "update", "update", "update", "block", "evict", "finish"]);
  for (const { caller } of orders) expect(caller).toMatch(/ \(console\)$/);

  const rows = (await operator.saveReport("csv")).split("\r\n").map((row) => row.split(","));
  const inSheet = rows.filter(([section]) => section === "totals").map(([, name, value]) => [name, Number(value)]);
  expect(Object.fromEntries(inSheet)).toMatchObject(seen);
  expect(rows.filter(([section]) => section === "order")).toHaveLength(orders.length);
}
