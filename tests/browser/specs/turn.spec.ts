// The turn of the visitor on the waiting page: claimed, and taken back after it was missed.

import { ONE_AT_A_TIME, TWO_TURNS } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";
import { WaitingPage } from "../harness/waiting_page.js";

test("admitted visitor is sent to the target with a pass", async ({ page, servers, queue, traffic }) => {
  await queue.open(ONE_AT_A_TIME);
  await traffic.shortenPolls();
  const target = `${servers.site}/shop.html?product=7`;
  await queue.update({ target_url: `${target}#lost` });
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  await waiting.movePointer();

  await queue.completeActive();
  await expect(page).toHaveTitle("Shop");
  const [address, pass = ""] = page.url().split("#pass=");
  expect(address).toBe(target);
  expect(await queue.validate(traffic.token, pass)).toMatchObject({ valid: true, state: "active" });
  expect(traffic.ofKind("claim")).toHaveLength(1);
});

test("without a target the page shows the session", async ({ page, servers, queue, traffic }) => {
  await queue.open(ONE_AT_A_TIME);
  await traffic.shortenPolls();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  await waiting.movePointer();

  await queue.completeActive();
  await waiting.expectHeadline("You’re in");
  await waiting.expectHidden("number");
  // The session has an hour.
  await expect(waiting.part("detail")).toHaveText(/^You have (1 hour|59 minutes, \d+ seconds?) left\.$/);
  expect((await queue.run("stats"))["active"]).toBe(1);

  await waiting.leave("done");
  await waiting.expectHeadline("All done");
  await expect(waiting.part("detail")).toHaveText("Your session has ended. To come back, join the line again.");
  // A pass could still be shown, so the slot stays taken.
  expect(await queue.run("stats")).toMatchObject({ active: 0, held: 1, totals: { completed: 1, left: 1 } });
});

test("ending a session can be taken back for ten seconds", async ({ page, servers, queue, traffic }) => {
  await queue.open(ONE_AT_A_TIME);
  await traffic.shortenPolls();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  await waiting.movePointer();
  await queue.completeActive();
  await waiting.expectHeadline("You’re in");

  await waiting.leave("done");
  await waiting.expectHeadline("Your session is ending");
  await expect(waiting.part("detail")).toHaveText(/^Changed your mind\? Your session is still yours for (10|\d) seconds?\.$/);
  await page.getByRole("button", { name: "Keep my session" }).click();
  await waiting.expectHeadline("You’re in");
  // Longer than the time to take it back.
  await page.waitForTimeout(11_000);
  await waiting.expectHeadline("You’re in");
  expect(traffic.ofKind("leave"), "nothing was sent").toHaveLength(0);
  expect((await queue.run("stats"))["active"]).toBe(1);
});

test("visitor who is away confirms the turn with the button", async ({ page, servers, queue, traffic }) => {
  await queue.open(ONE_AT_A_TIME);
  await traffic.shortenPolls();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);

  await queue.completeActive();
  await waiting.expectHeadline("It’s your turn");
  await expect(page).toHaveTitle("▶ It’s your turn");
  await expect(waiting.part("urgent"), "a screen reader is told").toHaveText(/^It’s your turn\. Please enter within (1 minute|\d+ seconds)\.$/);
  await expect(waiting.part("claim")).toBeVisible();
  await traffic.untilAnswered(2, "status", "state", "ready");
  expect(traffic.ofKind("claim")).toHaveLength(0);

  // The pointer on its way to the button would be input already.
  await waiting.part("claim").dispatchEvent("click");
  await waiting.expectHeadline("You’re in");
  await waiting.expectHidden("claim");
});

test("hidden tab keeps its turn without claiming", async ({ tabs, servers, queue, tabsTraffic }) => {
  await queue.open(ONE_AT_A_TIME);
  await tabsTraffic.shortenPolls();
  const waiting = await WaitingPage.open(await tabs.newPage(), servers.base, queue.id);
  await waiting.expectPosition(1);
  await waiting.movePointer();
  const other = await tabs.newPage();
  await waiting.untilVisibility("hidden");

  await queue.completeActive();
  await expect(waiting.page).toHaveTitle("▶ It’s your turn");
  // The page goes on polling, and the turn lasts.
  await tabsTraffic.untilAnswered(2, "status", "state", "ready");
  expect(tabsTraffic.ofKind("claim"), "a hidden tab must not claim").toHaveLength(0);
  expect(await queue.readStatus(tabsTraffic.token)).toMatchObject({ state: "ready" });

  await waiting.page.bringToFront();
  await waiting.untilVisibility("visible");
  await waiting.movePointer();
  await waiting.expectHeadline("You’re in");
  expect(await other.evaluate(() => document.visibilityState)).toBe("hidden");
});

test("visitor who misses the turn gets the old place back", async ({ tabs, servers, queue }) => {
  await queue.open(TWO_TURNS);
  const waiting = await WaitingPage.open(await tabs.newPage(), servers.base, queue.id);
  await waiting.expectPosition(1);
  await queue.enter();
  await tabs.newPage();
  await waiting.untilVisibility("hidden");

  await queue.completeActive();
  await waiting.expectHeadline("We called you, and you were away");
  await waiting.page.bringToFront();
  await waiting.untilVisibility("visible");
  await expect(waiting.part("join")).toHaveText("Take my place back");
  await waiting.part("join").click();
  // Ahead of the next one.
  await waiting.expectPosition(1);
});
