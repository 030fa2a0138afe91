// A queue for visitors with a ticket of the shop.

import { generateKeyPairSync, randomUUID, sign } from "node:crypto";

import type { Page } from "@playwright/test";

import { FULL, ONE_AT_A_TIME, type TestQueue } from "../harness/queue.js";
import * as screens from "../harness/screens.js";
import type { Servers } from "../harness/servers.js";
import { expect, test } from "../harness/test.js";
import { WaitingPage } from "../harness/waiting_page.js";

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const TICKET_KEYS = { keys: [publicKey.export({ format: "jwk" })] };

function signTicket(visitor: string, queue: string, seconds = 600, claims: object = {}): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const exp = Math.floor(Date.now() / 1_000) + seconds;
  const message = `${encode({ alg: "ES256" })}.${encode({ sub: visitor, aud: queue, exp, ...claims })}`;
  const signature = sign("sha256", Buffer.from(message), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return `${message}.${signature.toString("base64url")}`;
}

test("link with a ticket leads into the queue, and the ticket leaves the address bar", async ({ page, servers, queue }) => {
  await queue.run("create", { settings: { ...FULL, visitors: "ticket", ticket_keys: TICKET_KEYS } });
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectHeadline("You’re not in line");
  await expect(waiting.part("detail")).toContainText("You need a link");

  await page.goto("about:blank");
  await page.goto(`${servers.base}/?queue=${queue.id}#ticket=${signTicket("ada", queue.id)}`);
  await waiting.expectHeadline("You’re in");
  expect(page.url()).toBe(`${servers.base}/?queue=${queue.id}`);
  // The secret of the answer keeps the place, without another ticket.
  await page.reload();
  await waiting.expectHeadline("You’re in");
  const stored = await page.evaluate(() => Object.values({ ...localStorage }));
  expect(stored.filter((value) => value.startsWith("vst_"))).toHaveLength(1);
  expect(stored.some((value) => value.includes("eyJ"))).toBe(false);
});

test("page says that a ticket has expired", async ({ page, servers, queue }) => {
  await queue.open({ ...FULL, ticket_keys: TICKET_KEYS });
  const waiting = await WaitingPage.open(page, servers.base, `${queue.id}#ticket=${signTicket("ada", queue.id, -60)}`);
  await waiting.expectHeadline("You’re not in line");
  await expect(waiting.part("detail")).toContainText("get a new one");
});

/** Opens a link with a ticket for this account, as the shop makes it. */
async function openLink(page: Page, servers: Servers, queue: TestQueue, visitor: string, claims: object = {}): Promise<WaitingPage> {
  const ticket = signTicket(visitor, queue.id, 600, claims);
  await page.goto("about:blank");
  return WaitingPage.open(page, servers.base, `${queue.id}#ticket=${ticket}`);
}

// Who owns the pass with which the shop was reached: what the shop asks by `visitor` of `validate`.
async function passOwner(page: Page, queue: TestQueue, visitors: string[]): Promise<string[]> {
  await expect(page).toHaveTitle("Shop");
  const pass = page.url().split("#pass=")[1]!;
  const { sub: token } = JSON.parse(Buffer.from(pass.split(".")[1]!, "base64url").toString());
  const answers = await Promise.all(visitors.map(async (visitor) => [visitor, await queue.validate(token, pass, visitor)] as const));
  return answers.filter(([, answer]) => answer["valid"]).map(([visitor]) => visitor);
}

test("own link after a foreign one asks, and its pass is of the own account", async ({ page, servers, queue }) => {
  const settings = { ...ONE_AT_A_TIME, capacity: 2, visitors: "ticket", ticket_keys: TICKET_KEYS };
  await queue.run("create", { settings: { ...settings, target_url: `${servers.site}/shop.html` } });
  await openLink(page, servers, queue, "foreign");
  expect(await passOwner(page, queue, ["foreign", "own"])).toEqual(["foreign"]);

  const waiting = await openLink(page, servers, queue, "own", { name: "Ada <b>\u202e" });
  await expect(page.getByRole("dialog")).toContainText("You’re in.");
  // Also a visitor who does not answer is handed over with no pass of another account.
  await page.keyboard.press("Escape");
  await expect(waiting.part("target"), "the way to the shop with this pass is a choice").toBeVisible();
  await page.reload();
  expect(await passOwner(page, queue, ["foreign", "own"]), "a reload names no other account").toEqual(["foreign"]);

  await openLink(page, servers, queue, "own", { name: "Ada <b>\u202e" });
  await waiting.expectHeadline("You’re in");
  await expect(waiting.part("account")).toHaveText("Go on as \u2068Ada <b>\u2069");
  await waiting.part("account").click();
  expect(await passOwner(page, queue, ["foreign", "own"])).toEqual(["own"]);
});

test("place in line goes on while a link of another account asks", async ({ page, servers, queue, traffic }) => {
  await queue.open({ ...FULL, ticket_keys: TICKET_KEYS });
  await page.setViewportSize({ width: 320, height: 640 });
  await traffic.shortenPolls();
  const waiting = await openLink(page, servers, queue, "own");
  await waiting.expectPosition(1);
  const { token } = traffic;
  await openLink(page, servers, queue, "foreign");
  await expect(page.getByRole("dialog", { name: "Keep your place?" })).toContainText("You’re number 1 in line.");
  await expect(page.getByRole("button", { name: "Keep my place" }), "the safe answer has the focus").toBeFocused();
  await screens.expectAccessible(page);
  await screens.expectNoOverflow(page);
  await traffic.untilAnswered(3, "status", "position", 1);

  // Without an answer the place stays, and the page does not ask again.
  await openLink(page, servers, queue, "foreign");
  await waiting.expectPosition(1);
  await expect(page.getByRole("dialog")).toBeHidden();
  await waiting.part("account").click();
  await waiting.expectPosition(2);
  await expect(waiting.part("account")).toHaveText("Back to my other place");
  await page.reload();
  await waiting.expectPosition(2);
  await waiting.part("account").click();
  await waiting.expectPosition(1);
  await expect.poll(() => traffic.ofKind("status").at(-1)!.path).toContain(token);
  expect((await queue.run("stats"))["waiting"]).toBe(2);
});

test("visitor who keeps the place gets its turn", async ({ page, servers, queue, traffic }) => {
  await queue.open({ ...ONE_AT_A_TIME, ticket_keys: TICKET_KEYS, target_url: `${servers.site}/shop.html` });
  await traffic.shortenPolls();
  const waiting = await openLink(page, servers, queue, "own");
  await waiting.expectPosition(1);
  await openLink(page, servers, queue, "foreign");
  await page.getByRole("button", { name: "Keep my place" }).click();
  await openLink(page, servers, queue, "another");
  await waiting.expectPosition(1);
  await expect(page.getByRole("dialog")).toBeHidden();
  await waiting.movePointer();
  await queue.completeActive();
  expect(await passOwner(page, queue, ["own", "foreign", "another"])).toEqual(["own"]);
});

test("a turn comes although the question is open", async ({ page, servers, queue, traffic }) => {
  await queue.open({ ...ONE_AT_A_TIME, ticket_keys: TICKET_KEYS, target_url: `${servers.site}/shop.html` });
  await traffic.shortenPolls();
  const waiting = await openLink(page, servers, queue, "own");
  await waiting.expectPosition(1);
  await openLink(page, servers, queue, "foreign");
  await expect(page.getByRole("dialog")).toBeVisible();
  await waiting.movePointer();
  await queue.completeActive();
  await expect(page.getByRole("dialog")).toContainText("You’re in.");
  await page.getByRole("button", { name: "Keep my place" }).click();
  expect(await passOwner(page, queue, ["own", "foreign"])).toEqual(["own"]);
});

test("ten clicks with a random sub keep the place and ask once", async ({ page, servers, queue, traffic }) => {
  await queue.open({ ...FULL, visitors: "ticket", ticket_keys: TICKET_KEYS }, signTicket("first", queue.id));
  await traffic.record();
  let questions = 0;
  for (let click = 0; click <= 10; click++) {
    const waiting = await openLink(page, servers, queue, `captcha:${randomUUID()}`);
    await waiting.expectPosition(1);
    // The page shows the way to the other account with the question, or instead of it.
    if (click) await expect(waiting.part("account")).not.toBeHidden();
    questions += Number(await page.getByRole("dialog").isVisible());
  }
  expect(questions).toBe(1);
  expect(traffic.ofKind("enter")).toHaveLength(1);
  expect((await queue.run("stats"))["waiting"]).toBe(1);
});

test("element hands over no pass of another account", async ({ page, servers, queue }) => {
  const target = { target_url: `${servers.site}/shop.html` };
  await queue.run("create", { settings: { ...ONE_AT_A_TIME, ...target, capacity: 2, visitors: "ticket", ticket_keys: TICKET_KEYS } });
  const open = async (visitor: string) => {
    const options = { queue: queue.id, base: servers.base, ticket: signTicket(visitor, queue.id) };
    await page.goto(`${servers.site}/element.html?${new URLSearchParams(options)}`);
  };
  await open("foreign");
  expect(await passOwner(page, queue, ["foreign", "own"])).toEqual(["foreign"]);
  await open("own");
  await expect(page.getByText("The link that you opened is for another account.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Keep my place" })).toBeVisible();
  await page.getByRole("button", { name: "Go on as the other account" }).click();
  expect(await passOwner(page, queue, ["foreign", "own"])).toEqual(["own"]);
});
