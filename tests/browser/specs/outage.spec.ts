// The waiting page during an outage of the server.

import { ONE_AT_A_TIME } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";
import { WaitingPage } from "../harness/waiting_page.js";

const TROUBLE = "Connection lost. Trying again…";

// Behind nginx, an outage is a page with 502. Without it, the connection is refused.
for (const [name, server] of [
  ["behind nginx", "base"],
  ["without nginx", "runner"],
] as const) {
  test(`page ${name} waits in an outage and then continues`, async ({ page, servers, queue, traffic }) => {
    await queue.open({ ...ONE_AT_A_TIME, claim_seconds: 10 });
    // Changed answers would come from Playwright, which has no refused connections.
    if (server === "base") await traffic.shortenPolls();
    const before = await queue.enter();
    const waiting = await WaitingPage.open(page, servers[server], queue.id);
    await waiting.expectPosition(2);

    await servers.killRunner();
    await expect(waiting.part("strip")).toHaveText(TROUBLE);
    await waiting.expectPosition(2);

    await servers.restartRunner();
    await waiting.expectHidden("strip");
    await waiting.expectPosition(2);
    expect((await queue.run("stats"))["waiting"]).toBe(2);
    await queue.leave(before);
    await waiting.expectPosition(1);
    await waiting.movePointer();
    await queue.completeActive();
    await waiting.expectHeadline("You’re in");
    expect(await waiting.shownPositions()).toEqual([2, 1]);
  });
}
