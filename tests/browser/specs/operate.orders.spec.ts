// Each order of the operator's console once, at the real runner: what it did is read by the admin function.

import { readFile } from "node:fs/promises";

import type { Page } from "@playwright/test";

import { answerDoubts, closeDialog, giveOrder, openConsole, openOrder } from "../harness/console.js";
import { FULL, TestQueue, type Json } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";

const describe = async (queue: TestQueue): Promise<Json> => (await queue.run("describe"))["settings"];
const fillIn = (page: Page, name: string, value: string) => page.locator(`dialog [name="${name}"]`).fill(value);

async function confirm(page: Page, queue: TestQueue): Promise<void> {
  await page.locator('[data-part="confirm-name"]').fill(queue.id);
}

test.beforeEach(async ({ queue, page, servers }) => {
  await queue.open({ ...FULL, presence_seconds: 0 });
  await openConsole(page, servers.console, queue.id);
});

test("pause and resume are in the log with who gave them", async ({ queue, page }) => {
  await openOrder(page, "pause");
  await expect(page.locator('[data-part="give"]')).toBeFocused();
  await giveOrder(page, "Paused");
  await closeDialog(page);
  expect((await describe(queue))["paused"]).toBe(true);
  await expect(page.locator('[data-part="state"]')).toHaveText("Paused");
  await expect(page.locator('[data-part="pause"]')).toBeFocused();
  await openOrder(page, "resume");
  await giveOrder(page, "Resumed");
  await closeDialog(page);
  expect((await describe(queue))["paused"]).toBe(false);
  await expect(page.locator('[data-part="log"] li').first()).toContainText(/Resumed by .+ \(console\).*paused for/s);
});

test("one order goes to several queues, and each says what was done", async ({ queue, page, servers }) => {
  const others = ["b", "c"].map((name) => new TestQueue(servers.runner, `${queue.id}-${name}`));
  for (const other of others) await other.run("create", { settings: FULL });
  const [second, third] = others as [TestQueue, TestQueue];
  await page.reload();
  await page.locator('[data-part="several"]').click();
  await page.locator('[data-part="find-text"]').fill(queue.id);
  await expect(page.locator('[data-part="queues"] li')).toHaveCount(3);
  await expect(page.locator('[data-several="pause"]')).toBeDisabled();
  await page.locator('[data-part="choose-all"]').check();
  await expect(page.locator('[data-part="chosen"]')).toHaveText("3 chosen");

  // A queue that a colleague has deleted meanwhile is told, and the others are paused.
  await page.locator('[data-several="pause"]').click();
  await expect(page.locator("dialog h2")).toHaveText("Pause · 3 queues");
  await expect(page.locator("dialog pre")).toHaveText(/"op": "pause",\s+"queue": "…"/);
  const { epoch } = await third.run("stats");
  await third.run("delete", { confirm: third.id, epoch });
  await page.locator('[data-part="give"]').click();
  await expect(page.locator('[data-part="outcome"]')).toHaveText("Done in 2, not done in 1");
  const lines = page.locator('[data-part="each"] li');
  await expect(lines.filter({ hasText: second.id }).locator(".ok")).toHaveText("Paused");
  await expect(lines.filter({ hasText: third.id }).locator(".failed")).toContainText(/^Not done: .*deleted/);
  await expect(page.locator('[data-part="give"]')).toHaveText("Try the 1 again");
  expect([(await describe(queue))["paused"], (await describe(second))["paused"]]).toEqual([true, true]);
  await closeDialog(page);

  // The deleted queue is no longer chosen.
  await expect(page.locator('[data-part="chosen"]')).toHaveText("2 chosen");
  await page.locator('[data-several="message"]').click();
  await expect(page.locator('[data-part="give"]')).toHaveText("Remove the message");
  await fillIn(page, "en", "We are back soon.");
  await page.locator('[data-part="give"]').click();
  await expect(page.locator('[data-part="outcome"]')).toHaveText("Done in all 2 queues");
  await expect(page.locator('[data-part="give"]')).toBeHidden();
  await closeDialog(page);
  for (const each of [queue, second]) expect((await describe(each))["message"]).toEqual({ default: "en", en: "We are back soon." });
  await page.locator('[data-several="resume"]').click();
  await page.locator('[data-part="give"]').click();
  await expect(page.locator('[data-part="outcome"]')).toHaveText("Done in all 2 queues");
  await closeDialog(page);
  expect([(await describe(queue))["paused"], (await describe(second))["paused"]]).toEqual([false, false]);
  await expect(page.locator('[data-several="resume"]')).toBeFocused();
  await page.locator('[data-part="several"]').click();
  await expect(page.locator('[data-part="queues"] li input:visible')).toHaveCount(0);
});

test("a message reaches visitors in their languages", async ({ queue, page }) => {
  await openOrder(page, "message");
  await fillIn(page, "en", "We are out of size M.");
  await page.locator('[data-part="add-language"]').fill("ko");
  await page.locator('[data-part="add"]').click();
  await fillIn(page, "ko", "M 사이즈는 품절되었습니다.");
  await giveOrder(page, "The message is set");
  await closeDialog(page);
  expect((await describe(queue))["message"]).toEqual({ default: "en", en: "We are out of size M.", ko: "M 사이즈는 품절되었습니다." });
  await expect(page.locator('[data-part="sees-words"]')).toContainText("We are out of size M.");
});

test("two operators: what one has written, the other does not undo", async ({ queue, page, browser, servers }) => {
  await queue.update({ message: { default: "de", de: "Bitte warten.", "pt-br": "Aguarde.", en: "Please wait." }, ends_at_ms: Date.UTC(2036, 0, 1) });
  const colleague = await (await browser.newContext()).newPage();
  await openConsole(colleague, servers.console, queue.id);
  await page.reload();
  await openOrder(page, "message");
  await expect(page.locator("dialog textarea")).toHaveCount(3);
  await openOrder(colleague, "message");
  await fillIn(colleague, "en", "Please be patient.");
  await giveOrder(colleague, "The message is set");
  await closeDialog(colleague);
  // The open dialog says so, and its order is refused with the one who was quicker.
  await fillIn(page, "de", "Bitte Geduld.");
  await expect(page.locator('[data-part="overtaken"]')).toContainText(/Message: .*changed by .+ at/);
  await page.locator('[data-part="give"]').click();
  await expect(page.locator("dialog .failed")).toContainText("Not done");
  await expect(page.locator("dialog .outcome")).toContainText(/message is .* now, changed by .+ at 20/);
  await page.keyboard.press("Escape");
  expect((await describe(queue))["message"]).toEqual({ default: "de", de: "Bitte warten.", "pt-br": "Aguarde.", en: "Please be patient." });

  // Times: each sends what its operator changed.
  await openOrder(page, "times");
  await openOrder(colleague, "times");
  await fillIn(colleague, "closes_at_ms", "2035-12-01T20:00");
  await giveOrder(colleague, "The times are set");
  await fillIn(page, "ends_at_ms", "2036-12-01T20:00");
  await giveOrder(page, "The times are set");
  const settings = await describe(queue);
  const at = (text: string) => page.evaluate((local) => new Date(local).getTime(), text);
  expect([settings["closes_at_ms"], settings["ends_at_ms"]]).toEqual([await at("2035-12-01T20:00"), await at("2036-12-01T20:00")]);
  await colleague.context().close();
});

test("a slip of the finger is asked about, and set back", async ({ queue, page }) => {
  const desk = page.locator('[data-part="pace"]');
  const { capacity } = await describe(queue);
  await desk.locator('[name="capacity"]').fill("20000");
  await expect(desk.locator(".what")).toContainText(`At most 20,000 are inside instead of ${capacity}`);
  await desk.locator('[data-part="set-pace"]').click();
  await expect(page.locator('[data-part="give"]')).toBeDisabled();
  await page.locator("dialog .doubt input").check();
  await expect(page.locator('[data-part="give"]')).toBeDisabled();
  await confirm(page, queue);
  await giveOrder(page, "The pace is set");
  await closeDialog(page);
  const back = page.locator('[data-part="log"] [data-order="set_back"]:visible').first();
  await back.click();
  await expect(page.locator("dialog form .what").first()).toHaveText(`Capacity: 20,000 → ${capacity}`);
  await giveOrder(page, "Set back");
  await closeDialog(page);
  expect((await describe(queue))["capacity"]).toBe(capacity);
});

test("pace and capacity change together, and nothing else", async ({ queue, page }) => {
  const before = await describe(queue);
  const desk = page.locator('[data-part="pace"]');
  await desk.locator('[name="batch"]').fill("7");
  await desk.locator('[name="capacity"]').fill("25");
  await desk.locator('[data-part="set-pace"]').click();
  await answerDoubts(page);
  // More than ten times the capacity.
  await confirm(page, queue);
  await giveOrder(page, "The pace is set");
  await closeDialog(page);
  expect(await describe(queue)).toEqual({ ...before, batch: 7, capacity: 25 });
  await expect(page.locator('[data-count="inside"] strong')).toHaveText("1 / 25");
  await expect(page.locator('[data-part="log"] li').first()).toContainText(/Pace set/);
});

test("one visitor is let in beyond the pace, found by the token", async ({ queue, page }) => {
  const [first, second] = [await queue.enter(), await queue.enter()];
  await queue.update({ capacity: 2 });
  await page.locator('[data-part="find-text"]').fill(second.token);
  await page.keyboard.press("Enter");
  await expect(page.locator('[data-part="entry"]')).toContainText(/waiting.*Position\s*2/s);
  await page.locator("dialog button", { hasText: "Let in now" }).click();
  await page.locator('dialog [name="over_pace"]').check();
  await giveOrder(page, "Let in");
  await closeDialog(page);
  expect((await queue.readStatus(second.token))["state"]).toBe("ready");
  expect((await queue.readStatus(first.token))["state"]).toBe("waiting");
});

test("the next in line are not let in beyond the capacity", async ({ queue, page }) => {
  const { token } = await queue.enter();
  await openOrder(page, "let_in");
  await fillIn(page, "count", "2");
  await giveOrder(page, "Let in");
  await expect(page.locator("dialog .outcome")).toContainText("0 visitors were called · no more, because all places are taken");
  await closeDialog(page);
  expect((await queue.readStatus(token))["state"]).toBe("waiting");
  const { orders } = await queue.run("report");
  expect(orders.at(-1)).toMatchObject({ op: "promote", arguments: '{"count":2}' });
});

test("an entry moves to another lane, and the lower lanes get a share", async ({ queue, page }) => {
  const { token } = await queue.enter();
  await openOrder(page, "lane");
  await fillIn(page, "token", token);
  await page.locator('dialog [name="lane"]').selectOption("1");
  await giveOrder(page, "Moved");
  await closeDialog(page);
  expect((await queue.run("inspect", { token }))["place"]["lane"]).toBe(1);
  await openOrder(page, "lane_share");
  await fillIn(page, "lane_share", "25");
  await giveOrder(page, "The share is set");
  await closeDialog(page);
  expect((await describe(queue))["lane_share"]).toBe(25);
});

test("a visitor is evicted only after the name is typed", async ({ queue, page }) => {
  const { token } = await queue.enter();
  await openOrder(page, "evict");
  await fillIn(page, "token", token);
  await expect(page.locator('[data-part="give"]')).toBeDisabled();
  await confirm(page, queue);
  await giveOrder(page, "Evicted");
  await closeDialog(page);
  expect((await queue.readStatus(token))["code"]).toBe("evicted");
});

test("a source is seen, blocked, evicted and unblocked", async ({ queue, page, servers }) => {
  await queue.update({ presence_seconds: 90 });
  // nginx tells the runner from where a request comes.
  const { token } = await new TestQueue(servers.base, queue.id).enter();
  const source: string = (await queue.run("inspect", { token }))["record"]["source"];
  await openOrder(page, "sources");
  const row = page.locator('[data-part="sources"] tbody tr', { hasText: source });
  await row.locator("button", { hasText: "Block" }).click();
  await giveOrder(page, "Blocked");
  await closeDialog(page);
  expect((await describe(queue))["blocked"]).toEqual([{ source, until_ms: expect.any(Number) }]);
  await openOrder(page, "sources");
  await expect(row).toContainText("blocked");
  await row.locator("button", { hasText: "Evict a source" }).click();
  // Visitors who have shown that they are there are not removed without a further word.
  await expect(page.locator("dialog form .what")).toContainText(/This removes [01] entries now, and spares [12] whose/);
  await page.locator('dialog [name="all"]').check();
  await expect(page.locator("dialog form .what")).toContainText("This removes 2 entries now, and spares 0");
  await confirm(page, queue);
  await giveOrder(page, "Evicted");
  await closeDialog(page);
  expect((await queue.readStatus(token))["code"]).toBe("evicted");
  await openOrder(page, "unblock");
  await fillIn(page, "source", source);
  await giveOrder(page, "Unblocked");
  await closeDialog(page);
  expect((await describe(queue))["blocked"]).toEqual([]);
});

test("a queue drains, opens, and closes with its name", async ({ queue, page }) => {
  for (const [order, said, entrance] of [
    ["drain", "Draining", "draining"],
    ["open", "Open to newcomers", "open"],
    ["close", "Closed", "closed"],
  ] as const) {
    await openOrder(page, order);
    if (order !== "open") await confirm(page, queue);
    await giveOrder(page, said);
    await closeDialog(page);
    expect((await describe(queue))["entrance"]).toBe(entrance);
  }
  await expect(page.locator('[data-part="state"]')).toHaveText("Closed");
});

test("times are set and removed", async ({ queue, page }) => {
  await openOrder(page, "times");
  await fillIn(page, "closes_at_ms", "2036-12-01T20:00");
  await giveOrder(page, "The times are set");
  await closeDialog(page);
  expect((await describe(queue))["closes_at_ms"]).toBe(await page.evaluate(() => new Date("2036-12-01T20:00").getTime()));
  await expect(page.locator('[data-part="facts"]')).toContainText("no newcomers from");
});

for (const format of ["json", "csv"] as const) {
  test(`the report is saved as ${format}`, async ({ queue, page }) => {
    await openOrder(page, "report");
    await page.locator('dialog [name="format"]').selectOption(format);
    await giveOrder(page, "The report is ready");
    const download = page.waitForEvent("download");
    await page.locator('[data-part="download"]').click();
    const saved = await download;
    expect(saved.suggestedFilename()).toMatch(new RegExp(`-report\\.${format}$`));
    const text = await readFile((await saved.path())!, "utf8");
    if (format === "csv") {
      expect(text).toMatch(/^\ufeffsection,name,value,at_ms,at,caller,request_id,details\r\n.*totals,entered,1/s);
      expect(text).toMatch(/\r\norder,create,,\d{13},20\d\d-\d\d-\d\dT[\d:]{8}Z,/);
    }
    else expect(JSON.parse(text)).toMatchObject({ queue: queue.id, totals: { entered: 1 } });
  });
}

test("a finished queue tells its visitors, and is deleted", async ({ queue, page }) => {
  const { token } = await queue.enter();
  await openOrder(page, "finish");
  await page.locator('dialog [name="reason"]').selectOption("cancelled");
  await page.locator('dialog [name="en"]').fill("The singer is ill.");
  await confirm(page, queue);
  await giveOrder(page, "Finished");
  await closeDialog(page);
  await expect.poll(async () => (await queue.readStatus(token))["code"]).toBe("queue-finished");
  expect(await queue.readStatus(token)).toMatchObject({ finish_reason: "cancelled", message: "The singer is ill." });
  await expect(page.locator('[data-part="state"]')).toHaveText("Finished");
  await openOrder(page, "delete");
  await confirm(page, queue);
  await giveOrder(page, "Deleted");
  await closeDialog(page);
  expect((await queue.readStatus(token))["code"]).toBe("queue-deleted");
  await expect(page.locator('[data-part="queues"] li', { hasText: queue.id })).toHaveCount(0);
});

test("the waiting page is shown on request only", async ({ queue, page }) => {
  await expect(page.locator("iframe")).toHaveCount(0);
  await page.locator('[data-part="sees-show"]').click();
  await expect(page.frameLocator("iframe").locator("h1")).toBeVisible();
  await expect.poll(async () => (await queue.run("stats"))["totals"]["entered"]).toBe(2);
  await page.locator('[data-part="sees-show"]').click();
  await expect(page.locator("iframe")).toHaveCount(0);
});

test("a queue is created with its opening time", async ({ queue, page }) => {
  await page.locator('[data-part="create"]').click();
  await fillIn(page, "queue", `${queue.id}-new`);
  await fillIn(page, "opens_at_ms", "2036-12-01T20:00");
  await giveOrder(page, "Created");
  await closeDialog(page);
  await expect(page.locator('[data-part="name"]')).toHaveText(`${queue.id}-new`);
  await expect(page.locator('[data-part="state"]')).toHaveText("Scheduled");
});
