// What operators do to visitors on the waiting page, by the real server.

import { FULL, ONE_AT_A_TIME } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";
import { WaitingPage } from "../harness/waiting_page.js";

test("full queue is joined as soon as there is room", async ({ page, servers, queue, traffic }) => {
  await queue.open({ ...FULL, queue_limit: 1 });
  const other = await queue.enter();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectHeadline("The line is full");
  await waiting.expectHidden("strip");
  await waiting.expectHidden("join");
  await traffic.untilMore(1, "enter");
  await queue.leave(other);
  await waiting.expectPosition(1);
});

test("closed queue is joined when it opens again", async ({ page, servers, queue, traffic }) => {
  await queue.open(FULL);
  const { epoch } = await queue.run("describe");
  await queue.run("close", { confirm: queue.id, epoch });
  // The cache in front answers a late reader with its old copy. These reads renew it.
  const document = async () => (await page.request.get(`${servers.base}/queues/${queue.id}`)).json();
  const entrance = async () => ((await document()) as { entrance: string }).entrance;
  await expect.poll(entrance).toBe("closed");
  await traffic.record();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectHeadline("The line is closed");
  const entered = traffic.ofKind("enter").length;
  // Only the public document is read, which any cache may serve.
  await traffic.untilMore(1, "document");
  expect(traffic.ofKind("enter")).toHaveLength(entered);
  await queue.run("open");
  await expect.poll(entrance).toBe("open");
  await waiting.expectPosition(1);
});

test("queue that closes while the visitor waits keeps the place", async ({ page, servers, queue, traffic }) => {
  await queue.open(FULL);
  await traffic.shortenPolls();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  const { epoch } = await queue.run("describe");
  await queue.run("close", { confirm: queue.id, epoch });
  await waiting.expectHeadline("The line is closed for now");
  await waiting.expectPosition(1);
});

test("visitors of a finished queue read the operator's message", async ({ page, servers, queue, traffic }) => {
  await queue.open(FULL);
  await traffic.shortenPolls();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  const message = "Size M comes back in May.";
  const { epoch } = await queue.run("describe");
  await queue.run("finish", { confirm: queue.id, epoch, reason: "sold_out", message });
  await waiting.expectHeadline("Sold out");
  await expect(waiting.part("message")).toHaveText(message);
  await waiting.expectHidden("join");
});

test("visitor who is evicted learns who did it", async ({ page, servers, queue, traffic }) => {
  await queue.open(FULL);
  await traffic.shortenPolls();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  const { epoch } = await queue.run("describe");
  await queue.run("evict", { token: traffic.token, confirm: queue.id, epoch });
  await waiting.expectHeadline("Your place was withdrawn");
  await expect(waiting.part("detail")).toHaveText("The organiser has taken you out of the line.");
});

test("visitor of a reset queue learns it and joins again", async ({ page, servers, queue, traffic }) => {
  await queue.open(FULL);
  await traffic.shortenPolls();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  const { epoch } = await queue.run("describe");
  await queue.run("reset", { confirm: queue.id, epoch });
  await waiting.expectHeadline("The line starts anew");
  await waiting.part("join").click();
  await expect(page.locator("body")).toHaveAttribute("data-state", /^(in|waiting|near)$/);
});

test("queue with an opening counts down, draws, and lets in", async ({ page, servers, queue }) => {
  const opensAtMs = Date.now() + 25_000;
  const draw = { before_opening: "draw", draw_anyone: true, opens_at_ms: opensAtMs };
  await queue.run("create", { settings: { ...ONE_AT_A_TIME, ...draw } });
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await expect(waiting.part("headline")).toHaveText(/^Doors open at \d+:\d\d/);
  await expect(waiting.part("detail")).toContainText("random order");
  await expect(waiting.part("number")).toHaveText(/^0:[012]\d$/);
  await expect(waiting.part("walk")).toBeVisible();
  await waiting.movePointer();
  await waiting.expectHeadline("You’re in");
  expect(Date.now()).toBeGreaterThanOrEqual(opensAtMs);
});
