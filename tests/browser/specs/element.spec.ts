// The element in a page of a shop, whose origin is not that of the API.

import type { Page } from "@playwright/test";

import { FULL, ONE_AT_A_TIME } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";

const open = (page: Page, site: string, attributes: Record<string, string>) =>
  page.goto(`${site}/element.html?${new URLSearchParams(attributes)}`);
const part = (page: Page, name: string) => page.locator(`vestibule-line [part=${name}]`);

async function leave(page: Page): Promise<void> {
  await part(page, "leave").click();
  await part(page, "confirm").click();
}

test("element shows the position in the colours of the page", async ({ page, servers, queue }) => {
  await queue.open(FULL);
  await queue.enter();
  await open(page, servers.site, { queue: queue.id, base: servers.base });
  await expect(part(page, "headline")).toHaveText("You’re in line");
  await expect(part(page, "number")).toHaveText("2");
  await expect(part(page, "number")).toBeVisible();
  await expect(part(page, "number")).toHaveCSS("color", "rgb(1, 2, 3)");
  await expect(page.locator("vestibule-line")).toHaveCSS("padding-top", "7px");
  await expect(page.getByRole("button", { name: "Enter now" })).toBeHidden();
});

test("element lets the visitor in and goes to the target", async ({ page, servers, queue, traffic }) => {
  const target = `${servers.site}/shop.html`;
  await queue.open({ ...ONE_AT_A_TIME, target_url: target });
  await traffic.shortenPolls();
  await open(page, servers.site, { queue: queue.id, base: servers.base, confirm: "manual" });
  await expect(part(page, "number")).toHaveText("1");

  await queue.completeActive();
  await expect(part(page, "headline")).toHaveText("It’s your turn");
  await expect(part(page, "number"), "the time that is left").toHaveText(/^(1:00|0:\d\d)$/);
  await expect.poll(() => page.evaluate(() => (globalThis as any).statuses.at(-1))).toBe("ready");
  await page.getByRole("button", { name: "Enter now" }).click();
  await expect(page).toHaveTitle("Shop");
  const [address, pass = ""] = page.url().split("#pass=");
  expect(address).toBe(target);
  expect(await queue.validate(traffic.token, pass)).toMatchObject({ valid: true });
});

test("joining again in one element revives the other one", async ({ tabs, servers, queue }) => {
  await queue.open(FULL);
  const pages = [await tabs.newPage(), await tabs.newPage()] as const;
  for (const page of pages) {
    await open(page, servers.site, { queue: queue.id, base: servers.base });
    await expect(part(page, "number")).toHaveText("1");
  }
  const [, front] = pages;
  await leave(front);
  await front.evaluate(() => dispatchEvent(new PageTransitionEvent("pagehide")));
  for (const page of pages) await expect(part(page, "headline")).toHaveText("You’ve left the line");
  await queue.enter();
  await front.getByRole("button", { name: "Join the line" }).click();
  for (const page of pages) await expect(part(page, "number")).toHaveText("2");
});

test("element speaks the language of the page, and of no file that is missing", async ({ page, servers, queue }) => {
  await queue.open(FULL);
  await queue.update({ message: { en: "Soon", ko: "곧 시작해요" } });
  await open(page, servers.site, { queue: queue.id, base: servers.base, lang: "ko-KR" });
  await expect(part(page, "headline")).toHaveText("순서를 기다리고 있어요");
  await expect(part(page, "place")).toHaveAttribute("lang", "ko");
  await expect(part(page, "message")).toHaveText("곧 시작해요");
  await expect(part(page, "message")).toHaveAttribute("lang", "ko");
  await page.route("**/lang-ja.js", (route) => route.abort());
  await open(page, servers.site, { queue: queue.id, base: servers.base, lang: "ja" });
  await expect(part(page, "headline")).toHaveText("You’re in line");
  await expect(part(page, "place")).toHaveAttribute("lang", "en");
});

test("element ends a loop with a shop that sends the visitor back", async ({ page, servers, queue }) => {
  await queue.open({ ...ONE_AT_A_TIME, target_url: `${servers.site}/shop.html` });
  await open(page, servers.site, { queue: queue.id, base: servers.base });
  await expect(part(page, "number")).toHaveText("1");
  const back = page.url();
  let visits = 0;
  await page.route(`${servers.site}/shop.html`, async (route) => {
    visits++;
    await route.fulfill({ contentType: "text/html", body: `<script>location.replace(${JSON.stringify(back)})</script>` });
  });
  await page.mouse.move(10, 10);
  await page.mouse.move(20, 20);
  await queue.completeActive();
  await expect(part(page, "hint")).toContainText("sent you back");
  await expect(part(page, "headline")).toHaveText("You’re in");
  expect(visits).toBe(2);
  // The visitor may still go there.
  await page.unroute(`${servers.site}/shop.html`);
  await part(page, "target").click();
  await expect(page).toHaveTitle("Shop");
  expect(page.url()).toContain("#pass=");
});

test("leaving in the element asks first and can be taken back", async ({ page, servers, queue, traffic }) => {
  await queue.open(FULL);
  await traffic.record();
  await open(page, servers.site, { queue: queue.id, base: servers.base });
  await expect(part(page, "number")).toHaveText("1");
  await part(page, "leave").click();
  await expect(part(page, "stay")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(part(page, "dialog")).toBeHidden();
  await leave(page);
  await expect(part(page, "headline")).toHaveText("You’re leaving the line");
  await expect(part(page, "wait"), "the time to take it back").toHaveText(/^Changed your mind\? Your place is still yours for (10|\d) seconds?\.$/);
  await expect(part(page, "undo")).toBeFocused();
  await part(page, "undo").click();
  await expect(part(page, "headline")).toHaveText("You’re in line");
  expect(traffic.ofKind("leave"), "nothing was sent").toHaveLength(0);
  await leave(page);
  await expect(part(page, "headline")).toHaveText("You’ve left the line", { timeout: 15_000 });
  expect(traffic.ofKind("leave")).toHaveLength(1);
});

test("ending a session in the element asks first and can be taken back", async ({ page, servers, queue, traffic }) => {
  await queue.open(ONE_AT_A_TIME);
  await traffic.shortenPolls();
  await open(page, servers.site, { queue: queue.id, base: servers.base });
  await expect(part(page, "number")).toHaveText("1");
  await page.mouse.move(10, 10);
  await page.mouse.move(20, 20);
  await queue.completeActive();
  await expect(part(page, "headline")).toHaveText("You’re in");
  await part(page, "leave").click();
  await expect(page.getByRole("dialog", { name: "Are you done?" })).toContainText("Your session ends.");
  await page.getByRole("dialog").getByRole("button", { name: "I’m done" }).click();
  await expect(part(page, "headline")).toHaveText("Your session is ending");
  await expect(part(page, "wait"), "the time to take it back").toHaveText(/^Changed your mind\? Your session is still yours for (10|\d) seconds?\.$/);
  await expect(part(page, "number"), "only one time is shown").toBeHidden();
  await expect(part(page, "undo")).toHaveText("Keep my session");
  await part(page, "undo").click();
  await expect(part(page, "headline")).toHaveText("You’re in");
  await expect(part(page, "number"), "the time of the session").toHaveText(/^(1:00:00|59:\d\d)$/);
  // Longer than the time to take it back.
  await page.waitForTimeout(11_000);
  await expect(part(page, "headline")).toHaveText("You’re in");
  expect(traffic.ofKind("leave"), "nothing was sent").toHaveLength(0);
  expect((await queue.run("stats"))["active"]).toBe(1);
  await leave(page);
  await expect(part(page, "headline")).toHaveText("All done", { timeout: 15_000 });
  expect((await queue.run("stats"))["active"]).toBe(0);
});

test("element names the language of its texts, whatever that of the page is", async ({ page, servers, queue }) => {
  await queue.open(FULL);
  await queue.update({ message: { default: "ar", ar: "مرحبا", ko: "안녕하세요" } });
  await page.addInitScript(() => Object.defineProperty(navigator, "languages", { value: ["ko-KR"] }));
  await open(page, servers.site, { queue: queue.id, base: servers.base });
  await page.evaluate(() => Object.assign(document.documentElement, { lang: "ar", dir: "rtl" }));
  await expect(part(page, "place")).toHaveAttribute("lang", "ko");
  await expect(part(page, "place")).toHaveCSS("direction", "ltr");
  await expect(part(page, "message")).toHaveText("안녕하세요");
  await expect(part(page, "message")).toHaveAttribute("lang", "ko");
  await expect(part(page, "message")).toHaveAttribute("dir", "auto");
  await open(page, servers.site, { queue: queue.id, base: servers.base, lang: "ar" });
  await expect(part(page, "place")).toHaveAttribute("lang", "ar");
  await expect(part(page, "place")).toHaveCSS("direction", "rtl");
});

test("element works where the browser forbids channels", async ({ page, servers, queue }) => {
  await queue.open(FULL);
  await page.addInitScript(() => {
    globalThis.BroadcastChannel = class {
      constructor() {
        throw new DOMException("forbidden", "SecurityError");
      }
    } as unknown as typeof BroadcastChannel;
  });
  await open(page, servers.site, { queue: queue.id, base: servers.base });
  await expect(part(page, "number")).toHaveText("1");
});
