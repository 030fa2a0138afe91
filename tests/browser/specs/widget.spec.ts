// The widget of the queues in a dashboard that imitates the one of CloudWatch.

import { ONE_AT_A_TIME } from "../harness/queue.js";
import { COLOUR_SCHEMES, expectAccessible, expectNoOverflow } from "../harness/screens.js";
import { expect, test as base } from "../harness/test.js";
import { WIDGET_ARN, WidgetFunction, openDashboard } from "../harness/widget.js";

const test = base.extend<{ widget: WidgetFunction }>({
  widget: async ({ servers }, use) => {
    const widget = new WidgetFunction(servers.runner);
    await widget.start();
    await use(widget);
    widget.stop();
  },
});

const WIDTHS = [320, 390, 768, 1440];

for (const theme of COLOUR_SCHEMES) {
  test(`widget is whole and accessible in ${theme} at every width`, async ({ page, queue, widget }, info) => {
    await queue.open({ ...ONE_AT_A_TIME, capacity: 2, message: "Payment is slow <today> & tomorrow" });
    for (let visitor = 0; visitor < 4; visitor++) await queue.enter();
    await openDashboard(page, widget, { theme, params: { queue: queue.id } });
    await expect(page.getByText("Payment is slow <today> & tomorrow")).toBeVisible();
    await expect(page.locator("section")).toContainText("of 2");
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await expectNoOverflow(page);
      await expectAccessible(page);
      await page.screenshot({ path: info.outputPath(`widget-${theme}-${width}.png`) });
    }
  });
}

test("widget pauses and resumes a queue after a question", async ({ page, queue, widget }) => {
  await queue.open(ONE_AT_A_TIME);
  const invoked = await openDashboard(page, widget, { theme: "light", params: { queue: queue.id } });
  const questions: string[] = [];
  let accepts = false;
  page.on("dialog", async (dialog) => {
    questions.push(dialog.message());
    await (accepts ? dialog.accept() : dialog.dismiss());
  });
  const state = async () => (await queue.run("stats"))["state"];

  await page.getByRole("button", { name: "Pause" }).click();
  await expect.poll(() => questions.length).toBe(1);
  expect(questions[0]).toContain(`Pause ${queue.id}?`);
  expect(await state(), "the question was declined").toBe("open");

  accepts = true;
  await page.getByRole("button", { name: "Pause" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("status")).toContainText("is paused");
  await expect(page.locator("section")).toContainText("Paused");
  expect(await state()).toBe("paused");
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(page.getByRole("status")).toContainText("again");
  expect(await state()).toBe("open");
  expect(invoked).toEqual([`${WIDGET_ARN}:orders`, `${WIDGET_ARN}:orders`]);
});

test("widget sets and removes the message", async ({ page, queue, widget }) => {
  await queue.open(ONE_AT_A_TIME);
  await openDashboard(page, widget, { theme: "dark", params: { queue: queue.id } });
  page.on("dialog", (dialog) => dialog.accept());
  for (const text of ["<b>Doors</b> at 9", ""]) {
    await page.getByLabel(/Message for all who wait/).fill(text);
    await page.getByRole("button", { name: "Set message" }).click();
    await expect(page.getByRole("status")).toContainText(text || "no message any more");
    const { settings } = await queue.run("describe");
    expect(settings["message"] ?? "").toBe(text);
  }
});

test("widget takes no order by the name that only shows", async ({ queue, widget }) => {
  await queue.open(ONE_AT_A_TIME);
  const html = await widget.invoke(WIDGET_ARN, { order: "pause", show: queue.id });
  expect(html).toContain("Not done.");
  expect((await queue.run("stats"))["state"]).toBe("open");
});
