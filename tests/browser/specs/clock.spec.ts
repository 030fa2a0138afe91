// The visitor's clock is an hour off, and the API has another origin.

import { ONE_AT_A_TIME } from "../harness/queue.js";
import { LibraryPage } from "../harness/library_page.js";
import { expect, test } from "../harness/test.js";

const HOUR_MS = 3_600_000;
// The page counts from when it has the answer, which is late on a busy machine.
const TOLERANCE_MS = 10_000;

for (const [name, offsetMs] of [
  ["ahead", HOUR_MS],
  ["behind", -HOUR_MS],
] as const) {
  test(`countdown is right although the clock is an hour ${name}`, async ({ page, servers, queue, traffic }) => {
    await page.addInitScript(shiftDate, offsetMs);
    await queue.open(ONE_AT_A_TIME);
    await traffic.shortenPolls();
    const options = { queue: queue.id, base: servers.base, confirm: "manual" } as const;
    const library = await LibraryPage.open(page, servers.site, options);
    const differenceMs = (await page.evaluate(() => Date.now())) - Date.now();
    expect(Math.abs(differenceMs - offsetMs), "the clock of the page is wrong").toBeLessThan(HOUR_MS / 2);
    await library.untilPosition(1);
    const { token } = await library.state();

    await queue.completeActive();
    await library.untilStatus("ready");
    await expectCountdown("claim_in_ms");
    await page.evaluate(() => (globalThis as any).place.claim());
    await library.untilStatus("active");
    await expectCountdown("expires_in_ms");

    // The page is read before and after the server, so that a slow machine changes nothing.
    async function expectCountdown(field: string): Promise<void> {
      const beforeMs = await readLeftMs();
      const leftMs = (await queue.readStatus(token))[field];
      const afterMs = await readLeftMs();
      expect(leftMs, field).toBeLessThanOrEqual(beforeMs + TOLERANCE_MS);
      expect(leftMs, field).toBeGreaterThanOrEqual(afterMs - TOLERANCE_MS);
    }

    function readLeftMs(): Promise<number> {
      return page.evaluate(() => (globalThis as any).place.state.endsAtMs - performance.now());
    }
  });
}

// Runs in the page, before its scripts.
function shiftDate(offsetMs: number): void {
  const RealDate = Date;
  globalThis.Date = class extends RealDate {
    constructor(...parts: [number]) {
      super(...(parts.length ? parts : ([RealDate.now() + offsetMs] as [number])));
    }
    static override now(): number {
      return RealDate.now() + offsetMs;
    }
  } as DateConstructor;
}
