// A queue for visitors with a ticket of the shop.

import { generateKeyPairSync, sign } from "node:crypto";

import { FULL } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";
import { WaitingPage } from "../harness/waiting_page.js";

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const TICKET_KEYS = { keys: [publicKey.export({ format: "jwk" })] };

function signTicket(visitor: string, queue: string, seconds = 600): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const exp = Math.floor(Date.now() / 1_000) + seconds;
  const message = `${encode({ alg: "ES256" })}.${encode({ sub: visitor, aud: queue, exp })}`;
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
