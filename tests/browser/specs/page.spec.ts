// The waiting page as its visitor uses it: language, keyboard, alert, leaving, sleep and theme.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import type { Page } from "@playwright/test";

import { FULL, ONE_AT_A_TIME, TWO_TURNS } from "../harness/queue.js";
import { SCENES, openScene } from "../harness/scenes.js";
import * as screens from "../harness/screens.js";
import { expect, test } from "../harness/test.js";
import { WaitingPage } from "../harness/waiting_page.js";

const exampleTheme = fileURLToPath(new URL("../../../examples/theme", import.meta.url));

test.describe("language", () => {
  test.use({ locale: "ko-KR" });

  test("that of the browser is spoken, another is chosen by hand and kept", async ({ page, servers, queue }) => {
    await queue.open(FULL);
    await queue.update({ message: { default: "en", en: "Soon", ko: "곧 시작해요", ja: "まもなく" } });
    const waiting = await WaitingPage.open(page, servers.base, queue.id);
    await waiting.expectHeadline("순서를 기다리고 있어요");
    await expect(waiting.part("message")).toHaveText("곧 시작해요");

    await waiting.part("language").selectOption("ja");
    await waiting.expectHeadline("順番をお待ちください");
    await expect(waiting.part("message"), "the operator's message follows").toHaveText("まもなく");
    await page.reload();
    await waiting.expectHeadline("順番をお待ちください");
    await expect(page.locator("html")).toHaveAttribute("lang", "ja");
  });
});

test("page asks for its theme, reads the document meanwhile, and enters", async ({ page, servers, queue }) => {
  await queue.open(FULL);
  const requests: string[] = [];
  page.on("request", (request) => {
    const { origin, pathname } = new URL(request.url());
    const path = origin === servers.base ? pathname.replace(queue.id, "Q") : request.url();
    requests.push(`${request.method()} ${decodeURIComponent(path).replace(queue.id, "Q")}`);
  });
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  const [first, ...others] = requests;
  expect(first).toBe("GET /");
  expect(others.slice(0, 3).sort()).toEqual(["GET /queues/Q", "GET /theme.css", "GET /theme.json"]);
  expect(others[3]).toBe("POST /queues/Q/entries");
  expect(requests.filter((request) => !request.includes("/queues/"))).toHaveLength(3);
});

test.describe("language of a link", () => {
  test.use({ locale: "ja-JP" });

  test("counts more than that of the browser, and one that does not exist is none", async ({ page, servers, queue }) => {
    await queue.open(FULL);
    for (const [lang, headline] of [["ko", "순서를 기다리고 있어요"], ["constructor", "順番をお待ちください"]]) {
      await page.goto(`${servers.base}/?queue=${queue.id}&lang=${lang}`);
      await expect(page.locator("h1")).toHaveText(headline!);
    }
  });

  test("counts less than the choice of the visitor, whose ticket stays", async ({ page, servers, queue }) => {
    await queue.open(FULL);
    const waiting = await WaitingPage.open(page, servers.base, queue.id);
    await waiting.part("language").selectOption("ko");
    await waiting.expectHeadline("순서를 기다리고 있어요");
    const enter = page.waitForRequest((request) => request.method() === "POST");
    await page.goto(`${servers.base}/?queue=${queue.id}:other&lang=en#ticket=a.b.c`);
    expect((await enter).postDataJSON()).toEqual({ ticket: "a.b.c" });
    await expect(page.locator("html")).toHaveAttribute("lang", "ko");
    expect(new URL(page.url()).hash).toBe("");
  });
});

test.describe("a page whose script does not start", () => {
  // The errors are what this test is about.
  const open = async (page: Page, base: string, queue: string, change: (html: string) => string) => {
    await page.route(`${base}/?*`, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, body: change(await answer.text()) });
    });
    await page.goto(`${base}/?queue=${queue}`);
    await expect(page.locator("h1")).toHaveText("One moment");
    await expect(page.getByRole("button", { name: "Continue without JavaScript" })).toBeHidden();
    expect(await readDelays(page), "it comes after five seconds").toEqual([5_000]);
    await page.getByRole("button", { name: "Continue without JavaScript" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Join the line");
  };

  const readDelays = (page: Page) =>
    page.locator(".scriptless").evaluate((form) => form.getAnimations().map(({ effect }) => effect!.getTiming().delay));

  test("leads on without it after five seconds", async ({ page, servers, queue }) => {
    await queue.open(FULL);
    // As in a browser that does not know what the script is written in.
    await open(page, servers.base, queue.id, (html) => html.replace("type=module", "type=module-of-tomorrow"));
  });

  test("leads on with reduced motion, too", async ({ page, servers, queue }) => {
    await page.emulateMedia({ reducedMotion: "reduce" });
    await queue.open(FULL);
    await open(page, servers.base, queue.id, (html) => html.replace("type=module", "type=module-of-tomorrow"));
  });
});

test("keyboard alone leads through the page", async ({ page, servers, queue, traffic }) => {
  await queue.open(TWO_TURNS);
  await traffic.shortenPolls();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  const focused = () => page.evaluate(() => (document.activeElement as HTMLElement).dataset["part"]);
  const tabs = async () => {
    await page.keyboard.press("Tab");
    return focused();
  };
  expect([await tabs(), await tabs(), await tabs()]).toEqual(["language", "alert", "leave"]);
  await page.keyboard.press("Enter");
  // The safe answer has the focus, and Escape is no answer.
  expect(await focused()).toBe("stay");
  await page.keyboard.press("Escape");
  expect(await focused()).toBe("leave");
  await page.keyboard.press("Enter");
  await tabs();
  await page.keyboard.press("Enter");
  await waiting.expectHeadline("You’re leaving the line");
  await expect.poll(focused, { message: "the focus is not lost" }).toBe("headline");
  expect(await tabs()).toBe("undo");
  await page.keyboard.press("Enter");
  await waiting.expectPosition(1);

  // The keys were input, so the turn is claimed at once.
  await queue.completeActive();
  await waiting.expectHeadline("You’re in");
  expect(traffic.ofKind("leave")).toHaveLength(0);
});

test("leaving names its cost and can be taken back", async ({ page, servers, queue, traffic }) => {
  await queue.open(FULL);
  await traffic.shortenPolls();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  for (let n = 0; n < 2; n++) await queue.enter();
  await expect(waiting.part("behind")).toHaveText("2 behind");

  await waiting.part("leave").click();
  await expect(page.getByRole("dialog")).toContainText("The 2 people behind you go ahead of you.");
  await screens.expectAccessible(page);
  await page.getByRole("button", { name: "Leave", exact: true }).click();
  await waiting.expectHeadline("You’re leaving the line");
  await page.getByRole("button", { name: "Keep my place" }).click();
  await waiting.expectPosition(1);
  expect(traffic.ofKind("leave"), "nothing was sent").toHaveLength(0);
  expect((await queue.readStatus(traffic.token))["position"]).toBe(1);
});

test("session that ends soon can be extended", async ({ page, servers, queue, traffic }) => {
  await queue.open({ ...ONE_AT_A_TIME, session_seconds: 50 });
  await traffic.shortenPolls();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  await waiting.movePointer();
  await queue.completeActive();
  await waiting.expectHeadline("You’re in");
  await expect(waiting.part("urgent"), "a screen reader is told").toHaveText(/^You have (50|4\d) seconds left\.$/);
  await expect(waiting.part("detail")).toHaveText(/4\d seconds left/);
  await page.waitForTimeout(3_000);
  const before = (await queue.readStatus(traffic.token))["expires_at_ms"];
  await page.getByRole("button", { name: "I need more time" }).click();
  await expect.poll(async () => (await queue.readStatus(traffic.token))["expires_at_ms"]).toBeGreaterThan(before + 2_000);
});

test("hidden tab calls its visitor", async ({ tabs, servers, queue, tabsTraffic }) => {
  await queue.open(ONE_AT_A_TIME);
  await tabsTraffic.shortenPolls();
  const page = await tabs.newPage();
  await page.addInitScript(recordCalls);
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  await waiting.part("alert").click();
  await expect(waiting.part("alert")).toBeChecked();
  await tabs.newPage();
  await waiting.untilVisibility("hidden");

  await queue.completeActive();
  await expect(page).toHaveTitle(/^[▶▷] It’s your turn$/);
  const calls = () => page.evaluate(() => (globalThis as any).calls as string[]);
  await expect.poll(calls).toContain("notification: It’s your turn, Come back to the page to enter.");
  await expect.poll(calls).toContain("tone");
  expect(await calls()).toContain("vibration");
  expect(tabsTraffic.ofKind("claim"), "only the visitor claims").toHaveLength(0);
});

test("after a reload a key permits the sound of the alert, which says what it can do", async ({ page, servers, queue }) => {
  await queue.open(FULL);
  await page.addInitScript(() => {
    Object.defineProperty(Notification, "permission", { value: "denied" });
    localStorage.setItem("vestibule:alert", "on");
    const { AudioContext } = globalThis;
    globalThis.AudioContext = class extends AudioContext {
      constructor() {
        super();
        (globalThis as any).sound = this;
      }
    };
  });
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  await expect(page.locator("label.alert")).toContainText("Call me by sound when it’s my turn");
  await page.keyboard.press("Tab");
  await expect.poll(() => page.evaluate(() => (globalThis as any).sound?.state)).toBe("running");
});

test("page that can store nothing asks to keep the tab open, unless its history keeps the place", async ({ page, servers, queue }) => {
  await queue.open(FULL);
  await queue.enter();
  await page.addInitScript(() => {
    for (const name of ["localStorage", "sessionStorage"]) {
      Object.defineProperty(globalThis, name, {
        get() {
          throw new DOMException("forbidden", "SecurityError");
        },
      });
    }
  });
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(2);
  await queue.enter();
  await page.reload();
  await waiting.expectPosition(2);
  await waiting.expectHidden("hint");
  await page.addInitScript(() => {
    history.replaceState = () => {
      throw new DOMException("forbidden", "SecurityError");
    };
  });
  // Another entry of the history has no place yet.
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  await waiting.expectPosition(4);
  await expect(waiting.part("hint")).toHaveText("Keep this tab open: a reload loses your place.");
});

test("page without a connection does not invite to reload it", async ({ page, context, servers }) => {
  await openScene(page, servers.base, SCENES["waiting"]!);
  const hint = page.locator('[data-part="hint"]');
  await expect(hint).toBeVisible();
  await expect(hint).toContainText("You can reload this page");
  await context.setOffline(true);
  await expect(page.locator('[data-part="strip"]')).toHaveText("You’re offline.");
  await expect(hint).toBeHidden();
  await context.setOffline(false);
  await expect(hint).toBeVisible();
});

test("page asks a visitor whose turn is near to stay, and says nothing else", async ({ page, servers }) => {
  for (const [name, lead] of [
    ["called", "Your turn is coming up. Please stay on this page."],
    ["near", "Keep this page open: you’ll be let in automatically."],
  ] as const) {
    await openScene(page, servers.base, SCENES[name]!);
    await expect(page.locator('[data-part="detail"]')).toHaveText(lead);
    await expect(page.locator('[data-part="hint"]')).toBeHidden();
    await page.unrouteAll({ behavior: "ignoreErrors" });
  }
});

test("without the switch no sound and no notification call", async ({ page, servers }) => {
  await page.addInitScript(recordCalls);
  await openScene(page, servers.base, SCENES["turn"]!);
  await expect(page.locator("h1")).toHaveText("It’s your turn");
  expect(await page.evaluate(() => (globalThis as any).calls)).toEqual([]);
});

// Runs in the page, before its scripts: a browser of tests shows no notifications.
function recordCalls(): void {
  const calls: string[] = ((globalThis as any).calls = []);
  (globalThis as any).Notification = class {
    static permission = "default";
    static requestPermission = async () => ((globalThis as any).Notification.permission = "granted");
    constructor(title: string, { body }: NotificationOptions) {
      calls.push(`notification: ${title}, ${body}`);
    }
  };
  navigator.vibrate = () => calls.push("vibration") > 0;
  const { start } = OscillatorNode.prototype;
  OscillatorNode.prototype.start = function (when) {
    calls.push("tone");
    start.call(this, when);
  };
}

test("phone that slept for 20 minutes has its place and says so", async ({ page, servers, queue, traffic }) => {
  await page.clock.install();
  await queue.open(FULL);
  const before = await queue.enter();
  await traffic.stretchPolls();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(2);

  await queue.leave(before);
  await page.clock.fastForward("20:00");
  await waiting.expectPosition(1);
  await expect(waiting.part("detail")).toHaveText("Welcome back. Your place was kept while you were away.");
  await page.clock.runFor(25_000);
  await expect(waiting.part("detail")).not.toContainText("Welcome back");
  expect(traffic.ofKind("enter")).toHaveLength(1);
});

test("walk is drawn with its door, the visitor and the others", async ({ page, servers }) => {
  await openScene(page, servers.base, SCENES["waiting"]!);
  for (const shape of [".floor", ".door", ".frame", ".light", ".you", ".dark", ".pale"]) {
    // A straight floor has no height, and what is not drawn has no width.
    const width = () => page.locator(shape).first().evaluate((element) => element.getBoundingClientRect().width);
    await expect.poll(width, { message: shape }).toBeGreaterThan(0);
  }
});

test("reload does not put the visitor's dot back to the start", async ({ page, servers, queue, traffic }) => {
  await queue.open(FULL);
  await traffic.shortenPolls();
  const others = [await queue.enter(), await queue.enter(), await queue.enter(), await queue.enter()];
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(5);
  await expect(waiting.part("walk")).toHaveAttribute("aria-valuenow", "0");
  for (const other of others.slice(0, 3)) await queue.leave(other);
  await waiting.expectPosition(2);
  await expect(waiting.part("walk")).toHaveAttribute("aria-valuenow", "75");
  await page.reload();
  await waiting.expectPosition(2);
  await expect(waiting.part("walk")).toHaveAttribute("aria-valuenow", "75");
});

test.describe("theme", () => {
  const open = async (page: Page, base: string, theme: Record<string, unknown> = {}) => {
    const json = { ...JSON.parse(await readFile(join(exampleTheme, "theme.json"), "utf8")), ...theme };
    for (const name of ["theme.css", "logo.svg"]) {
      await page.route(`${base}/${name}`, (route) => route.fulfill({ path: join(exampleTheme, name) }));
    }
    await openScene(page, base, SCENES["waiting"]!, { theme: json });
  };

  test("has its colours, logo, texts and links, and no shift", async ({ page, servers }) => {
    await screens.observeLayoutShift(page);
    await open(page, servers.base);
    await expect(page.locator('[data-part="event"]')).toHaveText("Year-end concert · Fan club presale");
    await expect(page.getByRole("img", { name: "TICKETHOUSE" })).toBeVisible();
    await expect(page.locator(".you")).toHaveCSS("fill", "rgb(209, 0, 95)");
    await expect(page.locator("html")).toHaveCSS("background-color", "rgb(255, 255, 255)");
    await expect(page.getByRole("link", { name: "Help" })).toHaveAttribute("href", "https://shop.example/help");
    await screens.expectAccessible(page);
    await screens.expectStill(page);
  });

  for (const locale of ["en-US", "ko-KR", "ja-JP"]) {
    test(`has its font in ${locale}`, async ({ browser, servers }, { project }) => {
      const context = await browser.newContext({ ...project.use, locale });
      const page = await context.newPage();
      await page.route(`${servers.base}/theme.css`, (route) => route.fulfill({ contentType: "text/css", body: ":root { --font: serif }" }));
      await openScene(page, servers.base, SCENES["waiting"]!);
      await expect(page.locator("html")).toHaveAttribute("lang", locale.slice(0, 2));
      await expect(page.locator("body")).toHaveCSS("font-family", "serif");
      await context.close();
    });
  }

  test("may be broken without harm", async ({ page, servers, queue }) => {
    await queue.open(FULL);
    await page.route(`${servers.base}/theme.json`, (route) => route.fulfill({ body: "<html>" }));
    await page.route(`${servers.base}/theme.css`, (route) => route.abort());
    const waiting = await WaitingPage.open(page, servers.base, queue.id);
    await waiting.expectPosition(1);
    await expect(waiting.part("brand")).toHaveText("Waiting room");
  });
});

for (const [confirm, isClaimed] of [
  ["always", false],
  ["never", true],
] as const) {
  test(`turn with confirm ${confirm} is ${isClaimed ? "claimed without" : "left to"} the visitor`, async ({ page, servers, queue, traffic }) => {
    await queue.open(ONE_AT_A_TIME);
    await traffic.shortenPolls();
    await page.route(`${servers.base}/theme.json`, (route) => route.fulfill({ json: { confirm } }));
    const waiting = await WaitingPage.open(page, servers.base, queue.id);
    await waiting.expectPosition(1);
    if (!isClaimed) await waiting.movePointer();
    await queue.completeActive();
    if (!isClaimed) {
      await waiting.expectHeadline("It’s your turn");
      await waiting.movePointer();
      await traffic.untilAnswered(2, "status", "state", "ready");
      expect(traffic.ofKind("claim")).toHaveLength(0);
      await waiting.part("claim").click();
    }
    await waiting.expectHeadline("You’re in");
    expect(traffic.ofKind("claim")).toHaveLength(1);
  });
}

test.describe("with reduced motion", () => {
  test.use({ contextOptions: { reducedMotion: "reduce" } });

  test("nothing moves", async ({ page, servers }) => {
    await openScene(page, servers.base, SCENES["waiting"]!);
    await expect(page.locator("h1")).toHaveText("You’re in line");
    expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
  });
});

test("forced colours keep door, visitor and switch apart", async ({ page, servers }) => {
  await page.emulateMedia({ forcedColors: "active" });
  await openScene(page, servers.base, SCENES["waiting"]!);
  await expect(page.locator("h1")).toHaveText("You’re in line");
  const fill = (selector: string) => page.locator(selector).first().evaluate((element) => getComputedStyle(element).fill);
  const [you, others, paper] = [await fill(".you"), await fill(".dark"), await page.evaluate(() => getComputedStyle(document.body).backgroundColor)];
  expect(new Set([you, others, paper]).size).toBe(3);
  await screens.expectAccessible(page);
});
