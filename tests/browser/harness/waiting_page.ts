// The waiting page in one tab, as its visitor sees it.

import { expect, type Locator, type Page } from "@playwright/test";

/** The waiting page. */
export class WaitingPage {
  readonly page: Page;

  private constructor(page: Page) {
    this.page = page;
  }

  /** Opens the page of a queue. `base` is the address of its server. */
  static async open(page: Page, base: string, queue: string): Promise<WaitingPage> {
    await page.addInitScript(recordPositions);
    await page.goto(`${base}/?queue=${queue}`);
    return new WaitingPage(page);
  }

  /** A part of the page. */
  part(name: string): Locator {
    return this.page.locator(`[data-part="${name}"]`);
  }

  /** Waits until the page shows this headline. */
  async expectHeadline(text: string): Promise<void> {
    await expect(this.part("headline")).toHaveText(text);
    await expect(this.part("headline")).toBeVisible();
  }

  /** Waits until the page tells a visitor in line this position: one less visitors are ahead. */
  async expectPosition(position: number): Promise<void> {
    await expect(this.part("number")).toHaveText(String(position - 1));
    await expect(this.part("number")).toBeVisible();
    await expect(this.part("ahead")).toHaveText(position === 1 ? "You’re next" : /(person|people) ahead of you/);
  }

  /** The visitor leaves the line by the link `leave`, or the session by the button `done`, and says yes. */
  async leave(button: "leave" | "done" = "leave"): Promise<void> {
    await this.part(button).click();
    await this.part("confirm").click();
  }

  /** Waits until a part is not visible. */
  async expectHidden(part: string): Promise<void> {
    await expect(this.part(part)).toBeHidden();
  }

  /** Waits until the tab is in front of the others, or is not. */
  async untilVisibility(visibility: DocumentVisibilityState): Promise<void> {
    await expect.poll(() => this.page.evaluate(() => document.visibilityState)).toBe(visibility);
  }

  /** The visitor moves the pointer. */
  async movePointer(): Promise<void> {
    await this.page.mouse.move(10, 10);
    await this.page.mouse.move(20, 20);
  }

  /** Every position that the page has shown since it was loaded, in order. */
  shownPositions(): Promise<number[]> {
    return this.page.evaluate(() => (globalThis as any).shownPositions);
  }
}

// Runs in the page, before its scripts.
function recordPositions(): void {
  const positions: number[] = ((globalThis as any).shownPositions = []);
  addEventListener("DOMContentLoaded", () => {
    const part = document.querySelector('[data-part="number"]');
    const look = () => part?.textContent && positions.push(1 + Number(part.textContent.replaceAll(",", "")));
    if (part) new MutationObserver(look).observe(part, { childList: true, characterData: true, subtree: true });
  });
}
