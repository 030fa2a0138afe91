// Visitors who close the page, in a queue with `leave_on_close`.

import { FULL } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";
import { kindOf } from "../harness/traffic.js";
import { WaitingPage } from "../harness/waiting_page.js";

const LEAVING = { ...FULL, leave_on_close: true };
// From the closing to the end of the wait, and a second more for the tick.
const LEFT_AFTER_MS = 16_000;

test("closed tab leaves after 15 s, and a reload keeps the place", async ({
  context,
  tabs,
  servers,
  queue,
  traffic,
}) => {
  await queue.open(LEAVING);
  const readWaiting = async () => (await queue.run("stats"))["waiting"];
  const closing = await WaitingPage.open(await tabs.newPage(), servers.base, queue.id);
  await closing.expectPosition(1);
  const staying = await WaitingPage.open(await context.newPage(), servers.base, queue.id);
  await staying.expectPosition(2);

  const closedAtMs = performance.now();
  await closing.page.close();
  await staying.page.reload();
  await expect.poll(readWaiting).toBe(1);
  expect(performance.now() - closedAtMs).toBeGreaterThan(15_000);
  // The mark of the reload would have ended this wait by now.
  await staying.page.waitForTimeout(LEFT_AFTER_MS / 4);
  expect(await readWaiting()).toBe(1);
  const reloadedAtMs = performance.now();
  await staying.page.reload();
  await staying.expectPosition(1);
  const calls = await traffic.until((call) => kindOf(call) === "status" && call.receivedAtMs > reloadedAtMs);
  expect(calls.filter((call) => kindOf(call) === "enter")).toHaveLength(1);
});

test("closing one of two tabs keeps the place", async ({ tabs, servers, queue, tabsTraffic }) => {
  await queue.open(LEAVING);
  const open = async () => WaitingPage.open(await tabs.newPage(), servers.base, queue.id);
  const first = await open();
  await first.expectPosition(1);
  const second = await open();
  await second.expectPosition(1);
  await first.untilVisibility("hidden");
  const looks = tabsTraffic.untilMore(2, "status");
  await second.page.close();
  await looks;
  await first.page.waitForTimeout(LEFT_AFTER_MS);
  expect((await queue.run("stats"))["waiting"]).toBe(1);
  await first.expectPosition(1);
});
