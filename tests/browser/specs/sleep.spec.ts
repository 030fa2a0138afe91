// A device that sleeps sends nothing, and its clocks may stand still.

import { FULL, ONE_AT_A_TIME, TWO_TURNS } from "../harness/queue.js";
import { LibraryPage } from "../harness/library_page.js";
import { expect, test } from "../harness/test.js";

const MINUTE_MS = 60_000;

test("after a minute of sleep the client asks at once", async ({ page, servers, queue, traffic }) => {
  await page.clock.install();
  await queue.open(FULL);
  const before = await queue.enter();
  // By the clock of the page, the next poll is due in the minute.
  await traffic.change(({ body }) => {
    if (typeof body !== "string" && body["retry_after_ms"]) body["retry_after_ms"] = MINUTE_MS - 1;
  });
  const library = await LibraryPage.open(page, servers.site, { queue: queue.id, base: servers.base });
  await library.untilPosition(2);

  await queue.leave(before);
  // "Closing the laptop lid for a while": timers that were due run once.
  await page.clock.fastForward(MINUTE_MS);
  await library.untilPosition(1);
  expect(traffic.ofKind("enter")).toHaveLength(1);
});

test("a turn that came while the clock stood still is taken", async ({ page, servers, queue, traffic }) => {
  await page.clock.install();
  // A sleeping phone loses the poll that is held, which this browser cannot show. So no poll is needed before the turn.
  await queue.open({ ...ONE_AT_A_TIME, presence_seconds: 0 });
  await traffic.stretchPolls();
  const library = await LibraryPage.open(page, servers.site, { queue: queue.id, base: servers.base });
  await library.untilPosition(1);
  await library.movePointer();
  // What was answered within the last two seconds is not asked again.
  await page.clock.runFor(2_500);

  // Neither a timer nor performance.now() goes on, as on a phone that sleeps.
  // The moment must lie ahead when the order arrives, also on a busy machine.
  await page.clock.pauseAt(await page.evaluate(() => Date.now() + 10_000));
  await queue.completeActive();
  await queue.untilState(traffic.token, "ready");
  await page.clock.resume();
  // The visitor takes up the phone, and the browser shows the page.
  await page.evaluate(() => void document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
  await library.untilStatus("active");
});

test("frozen tab that misses its turn gets the old place back", async ({ tabs, servers, queue }) => {
  // A tab may freeze before its first poll, and without presence that makes no difference to the turn.
  await queue.open({ ...TWO_TURNS, presence_seconds: 0 });
  const options = { queue: queue.id, base: servers.base };
  const library = await LibraryPage.open(await tabs.newPage(), servers.site, options);
  await library.untilPosition(1);
  const { token } = await library.state();
  await queue.enter();
  const session = await tabs.newCDPSession(library.page);
  await session.send("Page.setWebLifecycleState", { state: "frozen" });

  await queue.completeActive();
  await queue.untilState(token, "expired");
  await session.send("Page.setWebLifecycleState", { state: "active" });
  await library.page.bringToFront();
  const { isMissedTurn } = await library.untilStatus("expired");
  expect(isMissedTurn).toBe(true);
  await library.page.reload();
  // Ahead of the visitor who came later.
  await library.untilPosition(1);
  expect((await library.state()).token).toBe(token);
});
