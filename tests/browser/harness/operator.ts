// An operator at the console: what a person reads and does there during a sale, with mouse and keys alone.

import { expect, type Locator, type Page } from "@playwright/test";
import { readFile } from "node:fs/promises";

import { answerDoubts, closeDialog, giveOrder, openOrder } from "./console.js";

const MINUTE_MS = 60_000;

/** The counts of the floor. */
export type CountName = "waiting" | "called" | "present" | "absent" | "ready" | "inside" | "done";

/** One operator with the console open. */
export class Operator {
  constructor(
    readonly page: Page,
    readonly queue: string,
  ) {}

  /** A part of the console. */
  part(name: string): Locator {
    return this.page.locator(`[data-part="${name}"]`);
  }

  /** The number of a count; `NaN` if the console shows none. */
  async readCount(name: CountName): Promise<number> {
    const text = await this.page.locator(`[data-count="${name}"] strong`).innerText();
    return Number.parseInt(text.replaceAll(",", ""), 10);
  }

  /** Waits until the console shows a count of at least so many. */
  async untilCount(name: CountName, least: number, timeout: number): Promise<void> {
    await expect.poll(() => this.readCount(name), { message: `${name} in the console`, timeout }).toBeGreaterThanOrEqual(least);
  }

  /** Creates the queue. */
  async create(fields: Record<string, number>): Promise<void> {
    await this.part("create").click();
    await this.#type("queue", this.queue);
    for (const [name, value] of Object.entries(fields)) await this.#type(name, String(value));
    await giveOrder(this.page, `Created ${this.queue}`);
    await closeDialog(this.page);
    await expect(this.part("name")).toHaveText(this.queue);
  }

  /** Schedules the opening at the next full minute that is so far away at least. Returns it in Unix milliseconds. */
  async scheduleOpening(leastMs: number): Promise<number> {
    const opensAtMs = Math.ceil((Date.now() + leastMs) / MINUTE_MS) * MINUTE_MS;
    const local = new Date(opensAtMs - new Date(opensAtMs).getTimezoneOffset() * MINUTE_MS).toISOString();
    await openOrder(this.page, "times");
    await this.#type("opens_at_ms", local.slice(0, "2026-12-01T20:00".length));
    await giveOrder(this.page, "The times are set");
    await closeDialog(this.page);
    return opensAtMs;
  }

  /** Types a pace at the desk, and returns the consequence that it tells. */
  async tryPace(fields: Record<string, number>): Promise<string> {
    for (const [name, value] of Object.entries(fields)) await this.part("pace").locator(`[name="${name}"]`).fill(String(value));
    return this.part("consequence").innerText();
  }

  /** Orders what the desk shows. The dialog repeats the consequence. */
  async setPace(): Promise<void> {
    const consequence = await this.part("consequence").innerText();
    await this.part("set-pace").click();
    await expect(this.page.locator("dialog form .what").first()).toHaveText(consequence);
    await answerDoubts(this.page);
    await giveOrder(this.page, "The pace is set");
    await closeDialog(this.page);
  }

  /** Opens the list of sources. Returns the row of the one with the most entries. */
  async openSources(): Promise<Locator> {
    await openOrder(this.page, "sources");
    return this.part("sources").locator("tbody tr").first();
  }

  /** Blocks the source of a row in the open list. */
  async block(row: Locator): Promise<void> {
    await row.locator("button", { hasText: "Block" }).click();
    await giveOrder(this.page, "Blocked");
    await closeDialog(this.page);
  }

  /**
   * Evicts all visitors of the source of a row in the open list. The dialog must count like this at first, with all of
   * them, and after the order.
   */
  async evictAll(row: Locator, [first, all, after]: [RegExp, RegExp, RegExp]): Promise<void> {
    await row.locator("button", { hasText: "Evict a source" }).click();
    await expect(this.page.locator("dialog form .what")).toContainText(first);
    await this.page.locator('dialog [name="all"]').check();
    await expect(this.page.locator("dialog form .what")).toContainText(all);
    await this.#confirm();
    await giveOrder(this.page, "Evicted");
    await expect(this.part("outcome")).toContainText(after);
    await closeDialog(this.page);
  }

  /** Tells all who wait that the sale is over. */
  async finish(): Promise<void> {
    await openOrder(this.page, "finish");
    await this.#confirm();
    await giveOrder(this.page, "Finished");
    await closeDialog(this.page);
  }

  /** Saves the report. Returns the content of the file. */
  async saveReport(format: "json" | "csv"): Promise<string> {
    await openOrder(this.page, "report");
    await this.page.locator('dialog [name="format"]').selectOption(format);
    await giveOrder(this.page, "The report is ready");
    const download = this.page.waitForEvent("download");
    await this.part("download").click();
    const saved = await download;
    expect(saved.suggestedFilename()).toMatch(new RegExp(`-report\\.${format}$`));
    await closeDialog(this.page);
    return readFile((await saved.path())!, "utf8");
  }

  async #type(name: string, text: string): Promise<void> {
    await this.page.locator(`dialog [name="${name}"]`).fill(text);
  }

  async #confirm(): Promise<void> {
    await expect(this.part("give")).toBeDisabled();
    await this.part("confirm-name").pressSequentially(this.queue);
  }
}
