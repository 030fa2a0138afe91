// The visitor's place in line on the waiting page: shown, kept, and given up.

import { FULL, TWO_TURNS, type Json } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";
import { bodyOf } from "../harness/traffic.js";
import { WaitingPage } from "../harness/waiting_page.js";

test("visitor who joins sees position and wait", async ({ page, servers, queue, traffic }) => {
  // The capacity is large and one entry per minute is promoted, so the pace alone determines the wait.
  await queue.open({ capacity: 100, batch: 1, interval_seconds: 60 });
  const before = await queue.enter();
  expect(before.entry["position"]).toBe(1);
  await traffic.record();

  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(2);
  await expect(page).toHaveTitle("(1) You’re in line");
  await expect(waiting.part("range")).toBeVisible();
  // The wait grows shorter.
  const isToldWait = async () => {
    const shown = await waiting.part("range").innerText();
    return traffic.calls.some((call) => isMinutes(shown, bodyOf(call)["estimated_wait_seconds"]));
  };
  await expect.poll(isToldWait).toBe(true);
});

// Whether a text tells this range in minutes. At one entry per minute, the wait of the second position is neither in
// seconds nor in hours.
function isMinutes(shown: string, range: Json | undefined): boolean {
  if (!range) return false;
  const [low = 0, high = low] = /^About ([\d–]+) minutes?$/.exec(shown)?.[1]?.split("–").map(Number) ?? [];
  return Math.abs(low - Math.max(1, range["low"] / 60)) <= 1 && Math.abs(high - range["high"] / 60) <= 1;
}

test("shown position never rises", async ({ page, servers, queue, traffic }) => {
  await queue.open(TWO_TURNS);
  const absent = await queue.enter();
  await queue.checkIn(absent);
  await traffic.shortenPolls();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(2);

  await queue.completeActive();
  await waiting.expectPosition(1);
  await queue.untilState(absent.token, "expired");
  const back = await queue.enter(absent.visitor);
  expect(back.entry).toMatchObject({ state: "waiting", position: 1 });
  await queue.checkIn(back);
  // The page has handled the first answer when it gets the second.
  await traffic.untilAnswered(2, "status", "position", 2);
  await waiting.expectPosition(1);
  expect(await waiting.shownPositions()).toEqual([2, 1]);

  await page.reload();
  await expect(waiting.part("number")).toBeVisible();
  await traffic.untilAnswered(2, "status", "position", 2);
  expect(await waiting.shownPositions(), "a reload shows the stored position").toEqual([1]);
});

test("position never rises after an answer without one", async ({ page, servers, queue, traffic }) => {
  await queue.open(FULL);
  await traffic.shortenPolls();
  // While Redis is unavailable, the backup answers, which knows no position.
  const positions = [5, 3, 9, null, 4, 2];
  let count = 0;
  await traffic.change((call) => {
    const body = bodyOf(call);
    if (body["state"] !== "waiting") return;
    const position = positions[Math.min(count++, positions.length - 1)] ?? null;
    Object.assign(body, { position, ahead: position && position - 1 });
  });
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(2);
  expect(await waiting.shownPositions()).toEqual([5, 3, 3, 2]);
});

test("reload keeps the place", async ({ page, servers, queue, traffic }) => {
  await queue.open(FULL);
  await traffic.record();
  await queue.enter();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(2);
  await queue.enter();

  await page.reload();
  await waiting.expectPosition(2);
  expect(traffic.ofKind("enter"), "a reload reads the status").toHaveLength(1);
  expect((await queue.run("stats"))["waiting"]).toBe(3);
});

test("pause and message are shown", async ({ page, servers, queue, traffic }) => {
  await queue.open(FULL);
  await traffic.shortenPolls();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  await waiting.expectHidden("message");

  const message = "Sold out soon. <b>곧 시작합니다</b> & more";
  await queue.update({ message });
  await expect(waiting.part("message"), "the message is text").toHaveText(message);
  await queue.run("pause");
  await waiting.expectHeadline("The line is paused");
  await expect(waiting.part("detail")).toContainText("Your place is kept");
  await waiting.expectPosition(1);
  await expect(waiting.part("message")).toHaveText(message);
  await queue.run("resume");
  await waiting.expectHeadline("You’re in line");
});

test("visitor who leaves may join again at the back", async ({ page, servers, queue, traffic }) => {
  await queue.open(FULL);
  await traffic.record();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  const next = await queue.enter();
  expect(next.entry["position"]).toBe(2);

  await waiting.leave();
  await waiting.expectHeadline("You’ve left the line");
  await waiting.expectHidden("number");
  await waiting.expectHidden("leave");
  expect(await queue.readStatus(traffic.token)).toMatchObject({ state: "left" });
  expect(await queue.readStatus(next.token)).toMatchObject({ position: 1 });

  await waiting.part("join").click();
  await waiting.expectPosition(2);
});
