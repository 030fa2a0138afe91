// The states of the operator's console with numbers of the tests: whole at each size, in both languages and colours, and
// usable by keyboard.

import { CONSOLE_SCENES, closeDialog, makeScene, openConsoleScene, openOrder } from "../harness/console.js";
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
    await expect(page.locator('[data-part="queues"] .state')).toHaveText(["Moving", "Scheduled", "Paused", "Draining", "No answer"]);
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
  }
});
