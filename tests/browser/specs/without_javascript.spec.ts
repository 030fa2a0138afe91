// A visitor whose browser runs no JavaScript.

import { ONE_AT_A_TIME } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";

test.use({ javaScriptEnabled: false });

test("visitor without JavaScript goes from the waiting page to the shop with a pass", async ({ page, servers, queue }) => {
  await queue.open({ ...ONE_AT_A_TIME, target_url: `${servers.site}/shop.html?pass={pass}&to={return}` });
  await page.goto(`${servers.base}/?queue=${queue.id}&return=%2Fitem%2F7`);
  // The page needs JavaScript, and leads a visitor without it to the pages that do not.
  await page.getByRole("button", { name: /^Continue/ }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Join the line");
  await page.getByRole("button", { name: "Join the line" }).click();
  await expect(page.locator("body")).toHaveAttribute("data-state", "waiting");
  await expect(page.getByText("Your position: 1")).toBeVisible();
  await queue.completeActive();
  // The page refreshes itself until it is the visitor's turn.
  await page.getByRole("button", { name: "Enter now" }).click();
  await expect(page).toHaveTitle("Shop");
  const { origin, searchParams } = new URL(page.url());
  expect([origin, searchParams.get("to")]).toEqual([servers.site, "/item/7"]);
  expect(searchParams.get("pass")).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
});

test("visitor without JavaScript is in a queue whose shop has no address", async ({ page, servers, queue }) => {
  await queue.open(ONE_AT_A_TIME);
  await page.goto(`${servers.base}/queues/${queue.id}/entries?lang=ko`);
  await page.getByRole("button", { name: "줄 서기" }).click();
  await queue.completeActive();
  await page.getByRole("button", { name: "지금 입장하기" }).click();
  await expect(page.locator("body")).toHaveAttribute("data-state", "in");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("입장했어요");
});

test("form of another site enters no queue", async ({ page, servers, queue }) => {
  await queue.open(ONE_AT_A_TIME);
  await page.goto(`${servers.base}/queues/${queue.id}/entries`);
  const action = `${servers.base}/queues/${queue.id}/entries`;
  // The site of the tests is an origin that may send cookies, and this one is not.
  await page.route("http://evil.example/", (route) =>
    route.fulfill({ contentType: "text/html", body: `<form method="post" action="${action}"><button>Win</button></form>` }),
  );
  await page.goto("http://evil.example/");
  await page.getByRole("button", { name: "Win" }).click();
  await expect(page.locator("body")).toHaveAttribute("data-code", "foreign-origin");
  expect((await queue.run("stats"))["waiting"]).toBe(0);
});
