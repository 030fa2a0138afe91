// Several tabs of one visitor.

import { FULL, ONE_AT_A_TIME } from "../harness/queue.js";
import { LibraryPage } from "../harness/library_page.js";
import { expect, test } from "../harness/test.js";
import { bodyOf } from "../harness/traffic.js";
import { WaitingPage } from "../harness/waiting_page.js";

test("one tab polls for two, and the second is no new entry", async ({ tabs, servers, queue, tabsTraffic }) => {
  await queue.open(FULL);
  const before = await queue.enter();
  await tabsTraffic.shortenPolls();
  const options = { queue: queue.id, base: servers.base };
  const first = await LibraryPage.open(await tabs.newPage(), servers.site, options);
  await first.untilPosition(2);
  const second = await LibraryPage.open(await tabs.newPage(), servers.site, options);
  await second.untilPosition(2);

  const calls = await tabsTraffic.untilMore(6, "status");
  for (const [n, call] of calls.slice(1).entries()) {
    const gapMs = call.receivedAtMs - calls[n]!.answeredAtMs;
    // Two tabs that poll would meet within an interval.
    expect(gapMs).toBeGreaterThan(0.9 * bodyOf(calls[n]!)["retry_after_ms"]);
  }
  await queue.leave(before);
  await Promise.all([first.untilPosition(1), second.untilPosition(1)]);
  expect(tabsTraffic.ofKind("enter")).toHaveLength(1);
  expect((await queue.run("stats"))["waiting"]).toBe(1);
});

test("closing the polling tab hands over to the other one", async ({ tabs, servers, queue, tabsTraffic }) => {
  await queue.open(FULL);
  const before = await queue.enter();
  await tabsTraffic.shortenPolls();
  const options = { queue: queue.id, base: servers.base };
  const opened: LibraryPage[] = [];
  for (let n = 0; n < 2; n++) {
    opened.push(await LibraryPage.open(await tabs.newPage(), servers.site, options));
    await opened[n]!.untilPosition(2);
  }
  const [call] = await tabsTraffic.untilMore(1, "status");
  const leader = opened.find(({ page }) => page === call!.page)!;
  const other = opened.find((tab) => tab !== leader)!;

  await leader.page.close();
  await queue.leave(before);
  await other.untilPosition(1);
  expect((await tabsTraffic.untilMore(2, "status")).at(-1)!.page).toBe(other.page);
  expect(tabsTraffic.ofKind("enter")).toHaveLength(1);
});

test("the tab with the visitor claims the turn for both", async ({ tabs, servers, queue, tabsTraffic }) => {
  await queue.open(ONE_AT_A_TIME);
  await tabsTraffic.shortenPolls();
  const options = { queue: queue.id, base: servers.base };
  const first = await LibraryPage.open(await tabs.newPage(), servers.site, options);
  await first.untilPosition(1);
  const second = await LibraryPage.open(await tabs.newPage(), servers.site, options);
  await second.untilPosition(1);
  await first.untilVisibility("hidden");
  await second.movePointer();

  await queue.completeActive();
  await Promise.all([second.untilStatus("active"), first.untilStatus("active")]);
  // A poll that was under way at the claim is answered with a pass of its own, which reaches the other tab a moment later.
  const readPasses = () => Promise.all([first, second].map(async (tab) => (await tab.state()).pass));
  await expect.poll(async () => new Set(await readPasses()).size).toBe(1);
  expect((await readPasses())[0]).toBeTruthy();
  expect(tabsTraffic.ofKind("claim").map(({ page }) => page)).toEqual([second.page]);
});

test("second tab of the page keeps the place", async ({ tabs, servers, queue, tabsTraffic }) => {
  await queue.open(FULL);
  await tabsTraffic.record();
  await queue.enter();
  const first = await WaitingPage.open(await tabs.newPage(), servers.base, queue.id);
  await first.expectPosition(2);
  await queue.enter();
  const second = await WaitingPage.open(await tabs.newPage(), servers.base, queue.id);
  await second.expectPosition(2);
  // The second learns it from the first.
  expect(tabsTraffic.ofKind("enter")).toHaveLength(1);
  expect((await queue.run("stats"))["waiting"]).toBe(3);
});

test("joining again in one tab of the page revives the other one", async ({ tabs, servers, queue }) => {
  await queue.open(FULL);
  const first = await WaitingPage.open(await tabs.newPage(), servers.base, queue.id);
  await first.expectPosition(1);
  const second = await WaitingPage.open(await tabs.newPage(), servers.base, queue.id);
  await second.expectPosition(1);
  await second.leave();
  await Promise.all([first, second].map((tab) => tab.expectHeadline("You’ve left the line")));

  await queue.enter();
  await second.part("join").click();
  await Promise.all([first, second].map((tab) => tab.expectPosition(2)));
  expect((await queue.run("stats"))["waiting"]).toBe(2);
});
