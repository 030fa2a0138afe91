// The example shops behind a queue, in a browser.

import type { Page } from "@playwright/test";

import { ONE_AT_A_TIME, TestQueue, type Json } from "../harness/queue.js";
import { SHOPS, enterForPass } from "../harness/shop.js";
import { expect, test } from "../harness/test.js";

const LINES_MAX = 80;
const PASS_SECONDS = 5;
// A loop of redirects makes some thirty requests in this time.
const LOOP_MS = 5_000;
// More than one for each second of the bound of a condition.
const PASSES = 100;
const WAIT_WITH_DEFAULTS_MS = 90_000;

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
const decode = (part: string): Json => JSON.parse(Buffer.from(part, "base64url").toString());

/** What the visitor did before the order. */
interface Way {
  /** The paths of the pages that were asked for. */
  readonly paths: string[];
  /** The pass with which the visitor came back. */
  readonly pass: string;
}

/** Opens a deep link of the shop, waits in line until the turn comes, and is sent to the shop. */
async function waitForTurn(page: Page, queue: TestQueue, address: string): Promise<void> {
  await page.goto(`${address}/checkout?item=7&size=a%26b`);
  await expect(page).toHaveTitle(/in line|Almost there/);
  await page.mouse.move(10, 10);
  await page.mouse.move(20, 20);
  await queue.completeActive();
}

/** Waits for the turn, and comes back to the page of the shop that was wanted. */
async function waitAndComeBack(page: Page, queue: TestQueue, address: string): Promise<Way> {
  const paths: string[] = [];
  const passes: string[] = [];
  page.on("request", (request) => {
    if (!request.isNavigationRequest()) return;
    const { pathname, searchParams } = new URL(request.url());
    paths.push(pathname);
    if (searchParams.has("pass")) passes.push(searchParams.get("pass")!);
  });
  await waitForTurn(page, queue, address);
  await expect(page).toHaveTitle("Checkout");
  expect(page.url()).toBe(`${address}/checkout?item=7&size=a%26b`);
  return { paths, pass: passes[0]! };
}

async function order(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Order" }).click();
}

/** Expects that the visitor who was active at first and the one of the shop have completed, and no slot is taken. */
async function expectFreeSlot(queue: TestQueue): Promise<void> {
  await expect
    .poll(() => queue.run("stats"))
    .toMatchObject({ active: 0, held: 0, load: { healthy: true, latency_ms: expect.any(Number) }, totals: { completed: 2 } });
}

for (const [n, shop] of SHOPS.entries()) {
  // The tests of the first shop are part of `make test`, those of the others of a slice.
  test.describe(`shop with ${shop.name}${n > 0 ? " @long" : ""}`, () => {
    test("has at most 80 lines without imports and comments", async () => {
      expect(await shop.countLines()).toBeLessThanOrEqual(LINES_MAX);
    });

    test("visitor waits, comes back, and orders after the pass has ended", async ({ page, servers, queue }) => {
      await queue.open({ ...ONE_AT_A_TIME, pass_seconds: PASS_SECONDS });
      await shop.run(servers.base, queue, async (address) => {
        const { paths } = await waitAndComeBack(page, queue, address);
        expect(paths).toEqual(["/checkout", "/", "/enter", "/checkout"]);
        await page.waitForTimeout((PASS_SECONDS + 7) * 1_000);
        await order(page);
        await expect(page).toHaveTitle("Thank you");
        await expectFreeSlot(queue);
      });
    });

    test("visitor orders after 90 s with the default settings @long", async ({ page, servers, queue }) => {
      test.setTimeout(3 * WAIT_WITH_DEFAULTS_MS);
      await queue.open({ capacity: 1, batch: 10, interval_seconds: 1 });
      await shop.run(servers.base, queue, async (address) => {
        await waitAndComeBack(page, queue, address);
        await page.waitForTimeout(WAIT_WITH_DEFAULTS_MS);
        // The pass is as long as the session, so the page is still open to the visitor.
        await page.reload();
        await expect(page).toHaveTitle("Checkout");
        await order(page);
        await expect(page).toHaveTitle("Thank you");
        await expectFreeSlot(queue);
      });
    });

    test("page behind an ended pass is back after a redirect", async ({ page, servers, queue }) => {
      await queue.open({ ...ONE_AT_A_TIME, pass_seconds: PASS_SECONDS });
      await shop.run(servers.base, queue, async (address) => {
        const { paths } = await waitAndComeBack(page, queue, address);
        // The shop's clock may be 5 s ahead.
        await page.waitForTimeout((PASS_SECONDS + 6) * 1_000);
        paths.length = 0;
        await page.reload();
        await expect.poll(() => paths).toEqual(["/checkout", "/", "/enter", "/checkout"]);
        await expect(page).toHaveTitle("Checkout");
      });
    });

    test("forged, stolen, used and foreign passes open no session", async ({ page, servers, queue }) => {
      await queue.open(ONE_AT_A_TIME);
      await shop.run(servers.base, queue, async (address) => {
        const { pass } = await waitAndComeBack(page, queue, address);
        const [header = "", claims = "", signature = ""] = pass.split(".");
        const other = new TestQueue(servers.runner, `${queue.id}-other`);
        await other.open({ ...ONE_AT_A_TIME, capacity: 2 });
        const wrong = [
          "",
          "a.b.c",
          `${header}.${claims}.${signature.split("").reverse().join("")}`,
          `${header}.${encode({ ...decode(claims), exp: 9e9 })}.${signature}`,
          `${encode({ alg: "none", typ: "pass+jwt" })}.${claims}.`,
          `${encode({ ...decode(header), alg: "HS256" })}.${claims}.${signature}`,
          await enterForPass(other),
          // A reader of a log gets no session by a pass found there.
          pass,
        ];
        for (const one of wrong) {
          const answer = await fetch(`${address}/enter?pass=${one}`, { redirect: "manual" });
          expect([answer.status, answer.headers.get("Set-Cookie")], one).toEqual([403, null]);
        }
        // The visitor may reload.
        await page.goto(`${address}/enter?pass=${pass}&return=//evil.example/`);
        expect(page.url()).toBe(`${address}/checkout`);
        await order(page);
        await expect(page).toHaveTitle("Thank you");
        // The order has used the pass up.
        expect((await page.goto(`${address}/enter?pass=${pass}`))?.status()).toBe(403);
      });
    });

    test("pass from before a reset opens no session", async ({ servers, queue }) => {
      await queue.open({ ...ONE_AT_A_TIME, capacity: PASSES + 1, batch: PASSES + 1 });
      const passes: string[] = [];
      while (passes.length < PASSES) passes.push(await enterForPass(queue));
      await shop.run(servers.base, queue, async (address) => {
        // Each time another pass, because a pass that was shown before is refused anyway.
        const enter = async () => (await fetch(`${address}/enter?pass=${passes.pop()}`, { redirect: "manual" })).status;
        await expect.poll(enter, { intervals: [1_000] }).toBe(303);
        const { epoch } = await queue.run("describe");
        await queue.run("reset", { confirm: queue.id, epoch });
        await expect.poll(enter, { intervals: [1_000] }).toBe(403);
        expect(passes.length).toBeGreaterThan(0);
      });
    });

    test("pass of a leaked key opens no session, and the visit goes on", async ({ page, servers, queue }) => {
      await queue.open(ONE_AT_A_TIME);
      await shop.run(servers.base, queue, async (address) => {
        const { pass } = await waitAndComeBack(page, queue, address);
        // The visitor's own browser may show a pass again, as long as the pass is valid.
        const show = async () => (await page.request.get(`${address}/enter?pass=${pass}`, { maxRedirects: 0 })).status();
        expect(await show()).toBe(303);
        await queue.run("rotate", { queue: undefined, leaked: true });
        await expect.poll(show, { intervals: [1_000], timeout: 30_000 }).toBe(403);
        // The order leads to the waiting room, and back with a new pass of the same visit.
        await order(page);
        await expect(page).toHaveTitle("Checkout");
        await order(page);
        await expect(page).toHaveTitle("Thank you");
        await expectFreeSlot(queue);
      });
    });

    test("refused visitor sees an error and is not sent around", async ({ page, servers, queue }) => {
      await queue.open(ONE_AT_A_TIME);
      const use = async (address: string) => {
        let pages = 0;
        page.on("request", (request) => request.isNavigationRequest() && pages++);
        await waitForTurn(page, queue, address);
        await expect(page.locator("body")).toContainText("This pass is not valid");
        await page.waitForTimeout(LOOP_MS);
        expect(pages).toBe(3);
      };
      await shop.run(servers.base, queue, use, ["ISSUER=https://another.example"]);
    });

    test("order of an ended visit leads back to the line", async ({ page, servers, queue }) => {
      await queue.open(ONE_AT_A_TIME);
      await shop.run(servers.base, queue, async (address) => {
        const { pass } = await waitAndComeBack(page, queue, address);
        await queue.complete(decode(pass.split(".")[1]!)["sub"]);
        await expect.poll(async () => (await queue.enter()).entry["state"]).toBe("active");
        await order(page);
        await expect(page).toHaveTitle(/in line|Almost there/);
      });
    });

    test("order during an outage succeeds when it is repeated", async ({ page, servers, queue }) => {
      await queue.open(ONE_AT_A_TIME);
      await shop.run(servers.base, queue, async (address) => {
        await waitAndComeBack(page, queue, address);
        await servers.killRunner();
        await order(page);
        await expect(page.locator("body")).toContainText("Please try again");
        await servers.restartRunner();
        await page.goto(`${address}/checkout`);
        await order(page);
        await expect(page).toHaveTitle("Thank you");
        await expect.poll(() => queue.run("stats")).toMatchObject({ active: 0, held: 0 });
      });
    });
  });
}
