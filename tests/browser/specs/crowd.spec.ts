// A page beside 500 clients, through nginx. It compares times of the browser with those of the server, so it runs alone.

import { performance } from "node:perf_hooks";

import { Crowd } from "../harness/crowd.js";
import { expect, test } from "../harness/test.js";
import { bodyOf, kindOf, type Call } from "../harness/traffic.js";
import { WaitingPage } from "../harness/waiting_page.js";

const AHEAD = 400;
const BEHIND = 100;
const JOINING_MS = 8_000;
// All of them have their turn within a minute.
const SETTINGS = { capacity: 10_000, batch: 8, interval_seconds: 1, session_seconds: 3_600 };
// The clocks of the browser's process, of this one and of the server tell the same time, but an answer takes some.
const ANSWER_MS_MAX = 1_000;

test("position among 500 visitors never rises, and the turn is taken at once @night", async ({ page, servers, queue, traffic }) => {
  test.setTimeout(240_000);
  await queue.run("create", { settings: { ...SETTINGS, paused: true } });
  const crowd = new Crowd();
  try {
    await crowd.join(servers.base, queue.id, AHEAD, JOINING_MS);
    const waiting = await WaitingPage.open(page, servers.base, queue.id);
    await waiting.expectPosition(AHEAD + 1);
    await crowd.join(servers.base, queue.id, BEHIND, JOINING_MS / 4);
    await queue.run("resume");
    await expect(waiting.part("headline")).not.toHaveText("The line is paused");
    await crowd.leaveEvery(20);
    await expect(async () => {
      await waiting.movePointer();
      await expect(waiting.part("headline")).toHaveText("You’re in", { timeout: 2_000 });
    }).toPass({ timeout: 150_000 });

    const positions = await waiting.shownPositions();
    expect(positions.length, "the position has moved on").toBeGreaterThan(3);
    expect(positions).toEqual([...positions].sort((a, b) => b - a));
    const calls = await traffic.until(isTurn);
    expectFirstPollAfterPromotion(calls.filter((call) => ["status", "claim"].includes(kindOf(call))));
    await expect.poll(() => crowd.count("active"), { timeout: 60_000 }).toBe(AHEAD + BEHIND - crowd.count("left"));
  } finally {
    crowd.close();
  }
});

const isTurn = (call: Call): boolean => bodyOf(call)["promoted_at_ms"] > 0;

// The first request after the promotion was answered with the turn: no earlier one was sent after it.
function expectFirstPollAfterPromotion(calls: readonly Call[]): void {
  const turn = calls.findIndex(isTurn);
  expect(turn, "the turn was told").toBeGreaterThanOrEqual(0);
  const promotedAtMs = bodyOf(calls[turn]!)["promoted_at_ms"] as number;
  const sentAt = calls.slice(0, turn).map(({ receivedAtMs }) => performance.timeOrigin + receivedAtMs);
  expect(sentAt.filter((ms) => ms > promotedAtMs + ANSWER_MS_MAX), "polls that were answered without the turn").toEqual([]);
}
