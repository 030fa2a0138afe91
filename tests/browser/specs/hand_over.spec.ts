// The way from the waiting page to the shop, and back.

import { ONE_AT_A_TIME } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";
import { WaitingPage } from "../harness/waiting_page.js";

test("visitor comes back to the page of the shop from which the link led here", async ({ page, servers, queue }) => {
  await queue.open({ ...ONE_AT_A_TIME, target_url: `${servers.site}/shop.html?pass={pass}&to={return}` });
  const waiting = await WaitingPage.open(page, servers.base, `${queue.id}&return=%2Fitem%2F7%3Fsize%3Dm`);
  await waiting.expectPosition(1);
  await waiting.movePointer();
  await queue.completeActive();
  await expect(page).toHaveTitle("Shop");
  const { hash, searchParams } = new URL(page.url());
  expect([hash, searchParams.get("to")]).toEqual(["", "/item/7?size=m"]);
  expect(searchParams.get("pass")).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
});

test("link cannot lead the visitor to another site", async ({ page, servers, queue }) => {
  await queue.open({ ...ONE_AT_A_TIME, target_url: `${servers.site}/shop.html?pass={pass}&to={return}` });
  const waiting = await WaitingPage.open(page, servers.base, `${queue.id}&return=%2F%2Fevil.example%2F`);
  await waiting.expectPosition(1);
  await waiting.movePointer();
  await queue.completeActive();
  await expect(page).toHaveTitle("Shop");
  expect(new URL(page.url()).searchParams.get("to")).toBe("/");
});

test("page ends a loop with a shop that sends the visitor back", async ({ page, servers, queue }) => {
  await queue.open({ ...ONE_AT_A_TIME, target_url: `${servers.site}/shop.html` });
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  let visits = 0;
  await page.route(`${servers.site}/shop.html`, async (route) => {
    visits++;
    const back = `${servers.base}/?queue=${queue.id}`;
    await route.fulfill({ contentType: "text/html", body: `<script>location.replace(${JSON.stringify(back)})</script>` });
  });
  await waiting.movePointer();
  await queue.completeActive();
  await expect(waiting.part("detail")).toContainText("sent you back");
  await waiting.expectHeadline("You’re in");
  expect(visits).toBe(2);
  // The visitor may still go there.
  await page.unroute(`${servers.site}/shop.html`);
  await waiting.part("target").click();
  await expect(page).toHaveTitle("Shop");
  expect(page.url()).toContain("#pass=");
});
