// A session must not start while its visitor is away.

import { ONE_AT_A_TIME } from "../harness/queue.js";
import { LibraryPage } from "../harness/library_page.js";
import { expect, test } from "../harness/test.js";

test("visible tab without input does not start the session", async ({ page, servers, queue, traffic }) => {
  await queue.open(ONE_AT_A_TIME);
  await traffic.shortenPolls();
  const library = await LibraryPage.open(page, servers.site, { queue: queue.id, base: servers.base, confirm: "auto" });
  await library.untilPosition(1);

  await queue.completeActive();
  expect((await library.untilStatus("ready")).needsInput).toBe(true);
  await traffic.untilAnswered(3, "status", "state", "ready");
  expect(traffic.ofKind("claim")).toEqual([]);
  expect((await queue.run("stats"))["active"]).toBe(0);

  await library.movePointer();
  await library.untilStatus("active");
});

test("visitor who uses the page is let in at once", async ({ page, servers, queue, traffic }) => {
  await queue.open(ONE_AT_A_TIME);
  await traffic.shortenPolls();
  const library = await LibraryPage.open(page, servers.site, { queue: queue.id, base: servers.base });
  await library.untilPosition(1);
  await page.keyboard.press("ArrowDown");

  await queue.completeActive();
  await library.untilStatus("active");
  expect(traffic.ofKind("claim")).toHaveLength(1);
});

test("hidden tab checks in and does not claim", async ({ tabs, servers, queue, tabsTraffic }) => {
  // A poll is held for a third of the presence at most.
  await queue.open({ ...ONE_AT_A_TIME, presence_seconds: 12 });
  await tabsTraffic.shortenPolls();
  const options = { queue: queue.id, base: servers.base };
  const library = await LibraryPage.open(await tabs.newPage(), servers.site, options);
  await library.untilPosition(1);
  await library.movePointer();
  await tabs.newPage();
  await library.untilVisibility("hidden");
  // Each poll of the owner is a check-in.
  const polls = await tabsTraffic.untilMore(3, "status");
  expect(polls.map(({ status }) => status)).toEqual(polls.map(() => 200));

  await queue.completeActive();
  await library.untilStatus("ready");
  await tabsTraffic.untilAnswered(3, "status", "state", "ready");
  expect(tabsTraffic.ofKind("claim")).toEqual([]);
  expect(await queue.readStatus(tabsTraffic.token)).toMatchObject({ state: "ready" });

  await library.page.bringToFront();
  await library.untilVisibility("visible");
  await library.movePointer();
  await library.untilStatus("active");
});
