// The example shop behind a queue, in a browser.

import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { ServerProcess } from "../harness/processes.js";
import { ONE_AT_A_TIME, TestQueue } from "../harness/queue.js";
import type { Servers } from "../harness/servers.js";
import { expect, test } from "../harness/test.js";
import { WaitingPage } from "../harness/waiting_page.js";

const SHOP = join(fileURLToPath(new URL("../../..", import.meta.url)), "examples/node/shop.mjs");
const PASS_SECONDS = 5;

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
const decode = (part: string): object => JSON.parse(Buffer.from(part, "base64url").toString());

/** Runs the shop in front of a queue whose only slot is taken. */
async function withShop(servers: Servers, queue: TestQueue, use: (address: string) => Promise<void>): Promise<void> {
  await queue.open({ ...ONE_AT_A_TIME, pass_seconds: PASS_SECONDS });
  const variables = [`WAITING_ROOM=${servers.base}`, `QUEUE=${queue.id}`, "PORT=0"];
  const shop = new ServerProcess("env", [...variables, process.execPath, SHOP]);
  try {
    const address = (await shop.readFirstLine()).replace(/\/$/, "");
    await queue.update({ target_url: `${address}/enter?pass={pass}&return={return}` });
    await use(address);
  } finally {
    await shop.stop();
  }
}

test("visitor waits, comes back, and orders after the pass has ended", async ({ page, servers, queue }) => {
  await withShop(servers, queue, async (shop) => {
    const redirects: string[] = [];
    page.on("request", (request) => request.isNavigationRequest() && redirects.push(new URL(request.url()).pathname));
    await page.goto(`${shop}/checkout?item=7`);
    await expect(page).toHaveTitle(/You are in line/);
    await page.mouse.move(10, 10);
    await page.mouse.move(20, 20);
    await queue.completeActive();
    await expect(page).toHaveTitle("Checkout");
    expect(page.url()).toBe(`${shop}/checkout?item=7`);
    expect(redirects).toEqual(["/checkout", "/", "/enter", "/checkout"]);

    await page.waitForTimeout((PASS_SECONDS + 7) * 1_000);
    await page.getByRole("button", { name: "Order" }).click();
    await expect(page).toHaveTitle("Thank you");
    expect(await queue.run("stats")).toMatchObject({ active: 0, held: 0, totals: { completed: 2 } });
  });
});

test("forged, stolen, used and foreign passes open no session", async ({ page, servers, queue }) => {
  await withShop(servers, queue, async (shop) => {
    const passes: string[] = [];
    page.on("request", (request) => {
      const pass = new URL(request.url()).searchParams.get("pass");
      if (pass) passes.push(pass);
    });
    const waiting = await WaitingPage.open(page, servers.base, queue.id);
    await waiting.expectPosition(1);
    await waiting.movePointer();
    await queue.completeActive();
    await expect(page).toHaveTitle("Shop");
    const [pass = ""] = passes;
    const [header = "", claims = "", signature = ""] = pass.split(".");
    const other = new TestQueue(servers.runner, `${queue.id}-other`);
    await other.open({ ...ONE_AT_A_TIME, capacity: 2 });
    const foreign = (await other.enter()).entry["pass"] as string;
    const forged = [
      "",
      "a.b.c",
      `${header}.${claims}.${signature.split("").reverse().join("")}`,
      `${header}.${encode({ ...decode(claims), exp: 9e9 })}.${signature}`,
      `${encode({ alg: "none", typ: "pass+jwt" })}.${claims}.`,
      foreign,
    ];
    for (const wrong of forged) {
      expect((await fetch(`${shop}/enter?pass=${wrong}`)).status, wrong).toBe(403);
    }
    // A reader of a log gets no session by a pass found there.
    const stolen = await fetch(`${shop}/enter?pass=${pass}`);
    expect([stolen.status, await stolen.text()]).toEqual([403, "This pass is in use."]);
    // The visitor may reload.
    await page.goto(`${shop}/enter?pass=${pass}&return=//evil.example/`);
    expect(page.url()).toBe(`${shop}/checkout`);
  });
});
