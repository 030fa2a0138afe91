// The states of the operator's console with numbers of the tests: whole at each size, in both languages and colours, and
// usable by keyboard.

import type { Page } from "@playwright/test";

import { CONSOLE_SCENES, closeDialog, makeCrowdedScene, makeScene, openConsoleScene, openOrder } from "../harness/console.js";
import * as screens from "../harness/screens.js";
import { expect, test } from "../harness/test.js";

const LANGUAGES = ["en", "ko"] as const;
const names = Object.keys(CONSOLE_SCENES);

for (const [n, name] of names.entries()) {
  test(`console ${name} says so in English`, async ({ page, servers }) => {
    const { scene, text } = CONSOLE_SCENES[name]!;
    await openConsoleScene(page, servers.console, scene());
    await expect(page.locator("body")).toContainText(text, { useInnerText: true });
  });

  const viewport = screens.SIZES[n % screens.SIZES.length]!;
  const language = LANGUAGES[n % 2]!;
  const colorScheme = screens.COLOUR_SCHEMES[Math.floor(n / 2) % 2]!;
  test.describe(`console ${name}`, () => {
    test.use({ locale: screens.LOCALES[language], colorScheme, viewport });

    test(`is whole in ${language}, ${colorScheme}, at ${viewport.width} px`, async ({ page, servers }) => {
      await openConsoleScene(page, servers.console, CONSOLE_SCENES[name]!.scene());
      await expect(page.locator("html")).toHaveAttribute("lang", language);
      await screens.expectNoOverflow(page);
      await screens.expectAccessible(page);
    });
  });
}

// The busiest state at each size, in each language and each colour. Most of it is in a slice.
for (const viewport of screens.SIZES) {
  for (const language of LANGUAGES) {
    for (const colorScheme of screens.COLOUR_SCHEMES) {
      test.describe("console moving", () => {
        test.use({ locale: screens.LOCALES[language], colorScheme, viewport });

        const long = language === "en" && colorScheme === "light" ? "" : " @long";
        test(`fits in ${language}, ${colorScheme}, at ${viewport.width} px with a dialog${long}`, async ({ page, servers }) => {
          await openConsoleScene(page, servers.console, makeScene());
          await screens.expectNoOverflow(page);
          await screens.expectAccessible(page);
          await openOrder(page, "finish");
          await screens.expectAccessible(page);
          const box = (await page.locator("dialog").boundingBox())!;
          expect(box.x).toBeGreaterThanOrEqual(0);
          expect(box.x + box.width).toBeLessThanOrEqual(viewport.width);
        });
      });
    }
  }
}

const rowsOf = (page: Page) => page.locator('[data-part="queues"] li a > b:first-child');

for (const viewport of [screens.SIZES[1], screens.SIZES[2]]) {
  test.describe("console with 200 queues", () => {
    test.use({ viewport });

    test(`has Pause and the health on its first screen at ${viewport.width} px`, async ({ page, servers }) => {
      await openConsoleScene(page, servers.console, makeCrowdedScene(200));
      await expect(rowsOf(page)).toHaveCount(200);
      await expect(page.locator('[data-part="pause"]')).toBeInViewport({ ratio: 1 });
      await expect(page.locator('[data-part="health"]')).toBeInViewport({ ratio: 1 });
      await expect(page.locator('[data-part="create"]')).toBeInViewport({ ratio: 1 });
      await screens.expectNoOverflow(page);
      await screens.expectAccessible(page);
      // The queue that is shown stays at the edge of the list, wherever the list is.
      const current = page.locator('[data-part="queues"] [aria-current]');
      await expect(current).toBeInViewport({ ratio: 0.9 });
      await page.locator('[data-part="queues"]').evaluate((list) => list.scrollTo(0, list.scrollHeight));
      await expect(rowsOf(page).last()).toBeInViewport({ ratio: 1 });
      await expect(current).toBeInViewport({ ratio: 0.9 });
      expect(await page.evaluate(() => scrollY)).toBe(0);
      await page.locator('[data-part="several"]').click();
      await page.locator('[data-part="queues"] li input').first().check();
      await screens.expectNoOverflow(page);
      await screens.expectAccessible(page);
      await page.locator('[data-several="message"]').click();
      await screens.expectAccessible(page);
    });
  });
}

test("the list has what needs a look first, and the filter has each state", async ({ page, servers }) => {
  await openConsoleScene(page, servers.console, makeCrowdedScene(200));
  const states = await page.locator('[data-part="queues"] .state').allTextContents();
  expect([...new Set(states)].slice(0, 2)).toEqual(["No answer", "Paused"]);
  await expect(rowsOf(page).nth(9)).toHaveText("TIMEDEAL:123");
  const filter = page.locator('[data-part="filter"]');
  await expect(filter.locator("option")).toHaveText(["All (200)", "Need a look (9)", /^Moving/, /^Scheduled/, /^Paused \(5\)/, "Draining (0)", /^Closed/, /^Finished/]);
  await filter.selectOption("paused");
  await expect(page.locator('[data-part="queues"] .state')).toHaveText(Array(5).fill("Paused"));
  await page.locator('[data-part="find-text"]').fill("128");
  await expect(rowsOf(page)).toHaveText(["EVENT:128"]);
  await filter.selectOption("draining");
  await expect(page.locator('[data-part="no-queues"]')).toHaveText("No queue is in this state.");
  await filter.selectOption("all");
  await page.locator('[data-part="find-text"]').fill("vent:19");
  // Enter opens the queue that is first in the list.
  const first = await rowsOf(page).first().textContent();
  await page.locator('[data-part="find-text"]').press("Enter");
  expect(decodeURIComponent(new URL(page.url()).hash)).toBe(`#${first}`);
});

test("the list keeps its order while the operator uses it", async ({ page, servers }) => {
  await page.clock.install();
  const scene = makeScene();
  await openConsoleScene(page, servers.console, scene);
  const order = ["demo:1", "FLASH:shoes", "TICKET:spring-hall", "TIMEDEAL:123", "DROP:lp-07"];
  await expect(rowsOf(page)).toHaveText(order);
  const poll = async () => {
    const answer = page.waitForResponse(/\/operate\/queues\//);
    await page.clock.runFor(5_000);
    await answer;
  };
  const last = scene.overview["queues"].find(({ queue }: { queue: string }) => queue === "DROP:lp-07").row;
  last.waiting = 90_000;
  await poll();
  // Numbers alone move nothing within a minute.
  await expect(page.locator('[data-part="queues"] li', { hasText: "DROP:lp-07" }).locator(".count")).toHaveText("90,000");
  await expect(rowsOf(page)).toHaveText(order);
  await rowsOf(page).nth(2).hover();
  await page.locator('[data-part="queues"] a').nth(3).focus();
  [last.state, last.paused] = ["paused", true];
  await poll();
  await expect(page.locator('[data-part="queues"] .state').last()).toHaveText("Paused");
  await expect(rowsOf(page)).toHaveText(order);
  await poll();
  await poll();
  await expect(rowsOf(page)).toHaveText(["demo:1", "DROP:lp-07", "FLASH:shoes", "TICKET:spring-hall", "TIMEDEAL:123"]);
  await expect(page.locator('[data-part="queues"] a:focus b').first()).toHaveText("TIMEDEAL:123");
});

test("the list is left by keyboard with the skip link, and arrows move in it", async ({ page, servers }) => {
  await openConsoleScene(page, servers.console, makeCrowdedScene(200));
  await page.keyboard.press("Tab");
  const skip = page.locator('[data-part="skip"]');
  await expect(skip).toBeFocused();
  await expect(skip).toHaveText("Skip to the queue");
  await expect(skip).toBeInViewport({ ratio: 1 });
  await screens.expectAccessible(page);
  await page.keyboard.press("Enter");
  await expect(page.locator('[data-part="name"]')).toBeFocused();
  expect(new URL(page.url()).hash).toBe("#TIMEDEAL%3A123");
  await page.keyboard.press("Tab");
  await expect(page.locator('[data-part="pause"]')).toBeFocused();
  const links = page.locator('[data-part="queues"] a');
  await links.first().focus();
  await page.keyboard.press("ArrowDown");
  await expect(links.nth(1)).toBeFocused();
  await page.keyboard.press("End");
  await expect(links.last()).toBeFocused();
  await expect(links.last()).toBeInViewport({ ratio: 0.9 });
  // The queue that stays at the edge of the list never covers the one with the focus.
  for (let n = 0; n < 20; n++) {
    await page.keyboard.press("ArrowUp");
    const isCovered = await page.evaluate(() => {
      const { left, top, bottom } = document.activeElement!.getBoundingClientRect();
      return [top + 4, bottom - 4].some((y) => !document.activeElement!.contains(document.elementFromPoint(left + 20, y)));
    });
    expect(isCovered, `${n + 1} from the end`).toBe(false);
  }
});

for (const [state, isPaused, first, isLetIn] of [
  ["open", false, "pause", true],
  ["paused", true, "resume", true],
  ["closed", false, "open", false],
  ["finished", true, "report", false],
] as const) {
  test(`the first button of a queue that is ${state} is ${first}`, async ({ page, servers }) => {
    await openConsoleScene(page, servers.console, makeScene({ stats: { state }, settings: { paused: isPaused } }));
    const strong = page.locator("header button.strong");
    await expect(strong).toHaveAttribute("data-order", first);
    await expect(page.locator('header [data-order="let_in"]')).toBeVisible({ visible: isLetIn });
    await strong.click();
    const op = await page.locator("dialog pre").first().textContent();
    expect(JSON.parse(op!)).toMatchObject({ op: first, queue: "TIMEDEAL:123" });
  });
}

test.describe("console on a phone", () => {
  test.use({ viewport: screens.SIZES[1] });

  test("has targets for a finger, of 44 px at least", async ({ page, servers }) => {
    await openConsoleScene(page, servers.console, makeScene());
    await page.locator('[data-part="several"]').click();
    await page.locator('[data-part="more-button"]').click();
    const findSmall = () =>
      page.evaluate(() => {
        const targets = [...document.querySelectorAll("button, select, textarea, summary, a[href], input:not([type=checkbox]), label:has([type=checkbox])")];
        const isSmall = (element: Element) => element.checkVisibility() && !element.matches(".skip") && Math.round(element.getBoundingClientRect().height) < 44;
        return targets.filter(isSmall).map(({ outerHTML }) => outerHTML.slice(0, 90));
      });
    expect(await findSmall()).toEqual([]);
    await page.keyboard.press("Escape");
    await openOrder(page, "finish");
    expect(await findSmall()).toEqual([]);
  });
});

test("a pause is a gap in the columns, and the table says it", async ({ page, servers }) => {
  await openConsoleScene(page, servers.console, makeScene());
  const chart = page.locator('[data-chart="rate"]');
  await expect(chart.locator("svg")).toHaveAttribute("aria-label", /120 in the last one, with a pace of 120; paused in [23] of 30 minutes/);
  await expect(chart.locator("rect.col")).toHaveCount(28);
  await chart.locator("summary").click();
  await expect(chart.locator("tbody tr", { hasText: "Paused" }).first()).toContainText("0");
});

test("the desk says what follows from a pace before the order", async ({ page, servers }) => {
  await openConsoleScene(page, servers.console, makeScene());
  const desk = page.locator('[data-part="pace"]');
  await expect(desk.locator('[data-part="set-pace"]')).toBeDisabled();
  await expect(desk.locator('[data-part="stays"]')).toHaveText("Visitors stayed 3 min 10 sec on average: half of them up to 2 min 52 sec, nine of ten up to 4 min 26 sec. A session may last 5 min. 8,528 have ended.");
  await desk.locator('[name="batch"]').fill("28");
  await expect(desk.locator(".what")).toContainText(/100 a minute can come in, as before.*need room for 840.*pace alone would be 168 a minute, but capacity 500 holds it back/);
  await desk.locator('[name="capacity"]').fill("840");
  // Late in the evening, one of the times or both are of tomorrow.
  await expect(desk.locator(".what")).toContainText(/gets in at [\w, ]*\d\d:\d\d instead of [\w, ]*\d\d:\d\d\. .*has room for it/);
  await desk.locator('[data-part="set-pace"]').click();
  await expect(page.locator("dialog pre").first()).toContainText('"batch": 28,');
  await expect(page.locator("dialog pre").first()).not.toContainText("interval_seconds");
});

test("what the operator types stays when new numbers come", async ({ page, servers }) => {
  await page.clock.install();
  await openConsoleScene(page, servers.console, makeScene());
  await page.locator('[data-part="pace"] [name="batch"]').fill("31");
  const answer = page.waitForResponse(/\/operate\/queues\//);
  await page.clock.runFor(6_000);
  await answer;
  await expect(page.locator('[data-part="pace"] [name="batch"]')).toHaveValue("31");
  await expect(page.locator('[data-part="pace"] [name="batch"]')).toBeFocused();
});

test("a server that does not answer leaves the last numbers, with their age", async ({ page, servers }) => {
  await page.clock.install();
  const goAway = await openConsoleScene(page, servers.console, makeScene());
  await expect(page.locator('[data-part="strip"]')).toBeHidden();
  goAway();
  await page.clock.runFor(6_000);
  await expect(page.locator('[data-part="strip"]')).toContainText(/does not answer/);
  await page.clock.runFor(36_000);
  await expect(page.locator('[data-part="strip"]')).toContainText(/as of 4\d sec ago/);
  await expect(page.locator('[data-count="waiting"] strong')).toHaveText("12,480");
});

test("the menu and its dialogs work by keyboard, and the focus returns", async ({ page, servers }) => {
  await openConsoleScene(page, servers.console, makeScene());
  const more = page.locator('[data-part="more-button"]');
  await more.focus();
  await page.keyboard.press("ArrowDown");
  await expect(page.locator('#more-orders [data-order="open"]')).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(more).toBeFocused();
  await expect(page.locator("#more-orders")).toBeHidden();
  await page.keyboard.press("ArrowUp");
  await expect(page.locator('#more-orders [data-order="delete"]')).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator('[data-part="confirm-name"]')).toBeFocused();
  await expect(page.locator('[data-part="give"]')).toBeDisabled();
  await page.keyboard.type("TIMEDEAL:12");
  await expect(page.locator('[data-part="give"]')).toBeDisabled();
  await page.keyboard.type("3");
  await expect(page.locator('[data-part="give"]')).toBeEnabled();
  await expect(page.locator("dialog pre").first()).toContainText(/"confirm": "TIMEDEAL:123",\s+"epoch": 3/);
  await page.keyboard.press("Escape");
  await expect(more).toBeFocused();
});

test("a refused order shows its problem and can be corrected", async ({ page, servers }) => {
  await openConsoleScene(page, servers.console, makeScene());
  const sent: unknown[] = [];
  await page.route(`${servers.runner}/operate/admin`, (route) => {
    sent.push(route.request().postDataJSON());
    const problem = { title: "The entry has no place", detail: "the entry is active, so it has no place in line any more", code: "not-waiting" };
    return route.fulfill({ json: sent.length === 1 ? { ok: false, problem } : { ok: true, result: { promoted: 2, limited_by: "requested" } } });
  });
  await openOrder(page, "let_in");
  await page.locator('dialog [name="count"]').fill("2");
  await page.locator('[data-part="give"]').click();
  await expect(page.locator("dialog .outcome")).toContainText(/Not done: The entry has no place.*the entry is active.*\(not-waiting\)/s);
  await screens.expectAccessible(page);
  await page.locator('[data-part="give"]').click();
  await expect(page.locator("dialog .outcome")).toContainText("2 visitors were called");
  await closeDialog(page);
  expect(sent).toEqual(Array(2).fill({ op: "promote", queue: "TIMEDEAL:123", count: 2 }));
});

test("a hidden console asks no server", async ({ page, servers }) => {
  await page.clock.install();
  await openConsoleScene(page, servers.console, makeScene());
  let count = 0;
  page.on("request", () => count++);
  const setHidden = (isHidden: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);
  await setHidden(true);
  await page.clock.runFor(20_000);
  expect(count).toBe(0);
  await setHidden(false);
  await expect.poll(() => count).toBeGreaterThan(0);
});

test("the language changes by hand and stays", async ({ page, servers }) => {
  await openConsoleScene(page, servers.console, makeScene());
  await page.locator('[data-part="language"]').selectOption("ko");
  await expect(page.locator('[data-part="state"]')).toHaveText("진행 중");
  await page.reload();
  await expect(page.locator('[data-part="pause"]')).toHaveText("일시 정지");
});

test.describe("with forced colours and no motion", () => {
  test.use({ forcedColors: "active", reducedMotion: "reduce" } as object);

  test("every state is a word", async ({ page, servers }) => {
    await openConsoleScene(page, servers.console, makeScene());
    await expect(page.locator('[data-part="queues"] .state')).toHaveText(["No answer", "Paused", "Scheduled", "Moving", "Draining"]);
    await screens.expectAccessible(page);
  });
});

test("the address with the key opens the page, and loses it", async ({ page, servers }) => {
  await page.goto(servers.console);
  await expect(page.locator('[data-part="queues"] li').first()).toBeVisible();
  expect(page.url()).not.toContain("key");
  // The cookie has it: a reload and a further tab need no address.
  await page.reload();
  await expect(page.locator('[data-part="queues"] li').first()).toBeVisible();
  const [cookie] = await page.context().cookies(servers.console);
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/operate", expires: -1 });
  const stranger = await page.request.get(`${servers.runner}/operate/overview`, { headers: { cookie: "" } });
  expect(stranger.status()).toBe(403);
});

test("a page of an earlier start says that it needs the new address", async ({ page, servers }) => {
  await page.goto(servers.console);
  await expect(page.locator('[data-part="queues"] li').first()).toBeVisible();
  const before = servers.console;
  await servers.killRunner();
  await servers.restartRunner();
  expect(servers.console).not.toBe(before);
  await expect(page.locator('[data-part="strip"]')).toContainText("Open the address that it printed", { timeout: 15_000 });
  const stale = await page.reload();
  expect(stale?.status()).toBe(403);
  await expect(page.locator("body")).toContainText("each start has a new key");
  await page.goto(servers.console);
  await expect(page.locator('[data-part="queues"] li').first()).toBeVisible();
});

test("what the operator has no right to is greyed out", async ({ page, servers }) => {
  for (const [right, allowed, refused] of [
    ["look", ["report"], ["pause", "let_in", "message", "drain", "close", "evict"]],
    ["operate", ["pause", "let_in", "message", "drain", "report"], ["close", "finish", "evict", "evict_source", "delete"]],
  ] as const) {
    const { deployment } = makeScene().overview;
    await openConsoleScene(page, servers.console, makeScene({ overview: { deployment: { ...deployment, right } } }));
    await page.locator('[data-part="more-button"]').click();
    const button = (name: string) => page.locator(`header [data-order="${name}"]`);
    for (const name of allowed) await expect(button(name), `${right} ${name}`).toBeEnabled();
    for (const name of refused) await expect(button(name), `${right} ${name}`).toBeDisabled();
    await expect(page.locator('[data-part="several"]')).toBeVisible({ visible: right !== "look" });
  }
});
