// A page with the client library and nothing else, in one tab.

import { expect, type Page } from "@playwright/test";

import type { PlaceState, QueueOptions } from "../../../web/client/src/types.js";

/** The fields of all states. Which of them mean something depends on the status. */
export type AnyState = { [Name in StateField]?: any } & Pick<PlaceState, "status" | "connection" | "queue">;
type StateField = "token" | "position" | "endsAtMs" | "needsInput" | "pass" | "problem" | "isMissedTurn";

/** The page of one place. */
export class LibraryPage {
  readonly page: Page;

  private constructor(page: Page) {
    this.page = page;
  }

  /** Opens a page at `site` that joins a queue with these options. */
  static async open(page: Page, site: string, options: Pick<QueueOptions, "queue" | "base" | "confirm">) {
    await page.goto(`${site}/library.html?${new URLSearchParams(options as Record<string, string>)}`);
    return new LibraryPage(page);
  }

  /** What the visitor sees now. */
  async state(): Promise<AnyState> {
    // An error has its fields only if they are copied.
    return this.page.evaluate(() => {
      const { state } = (globalThis as any).place;
      return { ...state, problem: state.problem && { ...state.problem } };
    });
  }

  /** Waits until the place has this status. */
  async untilStatus(status: PlaceState["status"]): Promise<AnyState> {
    await expect.poll(async () => (await this.state()).status).toBe(status);
    return this.state();
  }

  /** Waits until the place waits at a position. */
  async untilPosition(position: number): Promise<void> {
    await expect.poll(async () => (await this.state()).position).toBe(position);
  }

  /** Waits until what is shown is current, or is not for this reason. */
  async untilConnection(connection: PlaceState["connection"]): Promise<void> {
    await expect.poll(async () => (await this.state()).connection).toBe(connection);
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
}
