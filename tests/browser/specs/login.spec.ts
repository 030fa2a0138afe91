// Visitors who must log in at the shop before an authorizer lets them enter.

import { FULL, type TestQueue } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";
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
