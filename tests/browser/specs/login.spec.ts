// Visitors who must log in at the shop before an authorizer lets them enter.

import { FULL, type TestQueue } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";
import { WaitingPage } from "../harness/waiting_page.js";
import type { BrowserContext } from "@playwright/test";

const LOGIN = "http://login.example/?to={page}";

// Stands for the authorizer of API Gateway: it lets requests about entries through that carry the token.
async function guard(context: BrowserContext, queue: TestQueue, token: string): Promise<void> {
  await context.route(`**/queues/${encodeURIComponent(queue.id)}/entries**`, async (route) => {
    if (route.request().headers()["authorization"] === token) return route.continue();
    const problem = { type: "about:blank", title: "Unauthorized", status: 401, code: "unauthorized", detail: "log in" };
    return route.fulfill({ status: 401, contentType: "application/problem+json", body: JSON.stringify(problem) });
  });
  await context.route("**/theme.json", (route) => route.fulfill({ json: { login: LOGIN } }));
}

// Stands for the login of the shop, which returns with a token. Returns the number of visits.
async function serveLogin(context: BrowserContext, token: string): Promise<() => number> {
  let visits = 0;
  await context.route("http://login.example/**", (route) => {
    visits++;
    const page = new URL(route.request().url()).searchParams.get("to")!;
    return route.fulfill({ status: 302, headers: { Location: `${page}#token=${encodeURIComponent(token)}` } });
  });
  return () => visits;
}

test("visitor without a token logs in at the shop and comes back into the line", async ({ page, context, servers, queue }) => {
  await queue.open(FULL);
  await guard(context, queue, "Bearer good");
  const visits = await serveLogin(context, "Bearer good");
  await page.goto(`${servers.base}/?queue=${queue.id}&return=%2Fitem%2F7`);
  await expect(page.locator("body")).toHaveAttribute("data-state", "waiting");
  // The token is not in the address bar, and the parameters are.
  expect(page.url()).toBe(`${servers.base}/?queue=${queue.id}&return=%2Fitem%2F7`);
  await page.reload();
  await expect(page.locator("body")).toHaveAttribute("data-state", "waiting");
  expect(visits()).toBe(1);
});

test("login whose token is refused is not asked again and again", async ({ page, context, servers, queue }) => {
  await queue.open(FULL);
  await guard(context, queue, "Bearer good");
  const visits = await serveLogin(context, "Bearer bad");
  await page.goto(`${servers.base}/?queue=${queue.id}`);
  // The page keeps trying with the token, as after any failure that may pass.
  await expect(page.locator("body")).toHaveAttribute("data-link", "lost");
  await page.waitForRequest((request) => request.headers()["authorization"] === "Bearer bad");
  expect(visits()).toBe(1);
});

const tokenOf = (sub: string) => `Bearer e30.${Buffer.from(JSON.stringify({ sub })).toString("base64url")}.s`;

// Stands for an authorizer that names the visitor by the token, as `known` does: the runner trusts the header.
async function nameVisitors(context: BrowserContext, queue: TestQueue): Promise<void> {
  await context.route(`**/queues/${encodeURIComponent(queue.id)}/entries**`, async (route) => {
    const headers = route.request().headers();
    const [, payload] = headers["authorization"]?.split(".") ?? [];
    if (!payload) return route.fulfill({ status: 401, json: { status: 401, code: "unauthorized" } });
    const { sub } = JSON.parse(Buffer.from(payload, "base64url").toString());
    return route.continue({ headers: { ...headers, "x-visitor-id": sub } });
  });
}

test("link with the token of another login asks, and no place is lost", async ({ page, context, servers, queue }) => {
  await queue.open({ ...FULL, trust_client_visitor_id: true });
  await nameVisitors(context, queue);
  await context.route("**/theme.json", (route) => route.fulfill({ json: { login: LOGIN } }));
  const visits = await serveLogin(context, tokenOf("own"));
  const open = async (sub: string, tab = page) => {
    await tab.goto("about:blank");
    return WaitingPage.open(tab, servers.base, `${queue.id}#token=${encodeURIComponent(tokenOf(sub))}`);
  };

  // Somebody's link comes first, and the own login later.
  const waiting = await open("foreign");
  await waiting.expectPosition(1);
  await open("own");
  await expect(page.getByRole("dialog")).toContainText("You’re number 1 in line.");
  await waiting.part("confirm").click();
  await waiting.expectPosition(2);
  await page.reload();
  await waiting.expectPosition(2);

  // The own place stays while a foreign link asks, also in a tab that has no token of it.
  await open("foreign");
  await page.keyboard.press("Escape");
  await waiting.expectPosition(2);
  await page.close();
  const other = await open("foreign", await context.newPage());
  await expect(other.page.getByRole("dialog")).toBeVisible();
  expect(visits(), "the login is not asked before the visitor has answered").toBe(0);
  await other.page.getByRole("button", { name: "Keep my place" }).click();
  await other.expectPosition(2);
  expect((await queue.run("stats"))["waiting"]).toBe(2);
});
