// Faults between the visitor and the server: each of them keeps the place.

import { FULL, ONE_AT_A_TIME } from "../harness/queue.js";
import { LibraryPage } from "../harness/library_page.js";
import { expect, test } from "../harness/test.js";
import { kindOf, type Call } from "../harness/traffic.js";

const HTML = "<!doctype html><title>Access denied</title>";

test("offline is shown, and the client asks when the network is back", async ({
  page,
  context,
  servers,
  queue,
  traffic,
}) => {
  await queue.open(FULL);
  const before = await queue.enter();
  // No poll is due, so only the return of the network can cause one.
  await traffic.stretchPolls();
  const library = await LibraryPage.open(page, servers.site, { queue: queue.id, base: servers.base });
  await library.untilPosition(2);
  // What was answered within the last two seconds is not asked again.
  await page.waitForFunction(() => performance.now() - (globalThis as any).changedAtMs > 2_500);

  await context.setOffline(true);
  await library.untilConnection("offline");
  expect(await library.state()).toMatchObject({ status: "waiting", position: 2 });
  await queue.leave(before);
  await context.setOffline(false);
  await library.untilPosition(1);
  await library.untilConnection("online");
  expect(traffic.ofKind("enter")).toHaveLength(1);
});

test("a killed server that starts again has the place", async ({ page, servers, queue, traffic }) => {
  await queue.open(ONE_AT_A_TIME);
  await traffic.shortenPolls();
  const library = await LibraryPage.open(page, servers.site, { queue: queue.id, base: servers.base });
  await library.untilPosition(1);
  const { token } = await library.state();

  // nginx answers 502 with a page.
  await servers.killRunner();
  await library.untilConnection("retrying");
  const { status, position, problem } = await library.state();
  expect([status, position, problem.status]).toEqual(["waiting", 1, 502]);
  await servers.restartRunner();
  await library.untilConnection("online");
  expect(await library.state()).toMatchObject({ status: "waiting", position: 1, token });

  await library.movePointer();
  await queue.completeActive();
  await library.untilStatus("active");
  expect(traffic.ofKind("enter")).toHaveLength(1);
});

for (const [name, status, body] of [
  ["foreign 403", 403, HTML],
  ["HTML with status 200", 200, HTML],
  ["404 with foreign JSON", 404, { message: "no route" }],
] as const) {
  test(`the turn is taken after a ${name} while waiting`, async ({ page, servers, queue, traffic }) => {
    await queue.open(ONE_AT_A_TIME);
    await traffic.shortenPolls();
    const library = await LibraryPage.open(page, servers.site, { queue: queue.id, base: servers.base });
    await library.untilPosition(1);
    let isFaulty = true;
    await traffic.change((call) => isFaulty && replaceAnswer(call, status, body));

    await library.untilConnection("retrying");
    // The turn comes meanwhile.
    await queue.completeActive();
    await queue.untilState(traffic.token, "ready");
    expect(await library.state()).toMatchObject({ status: "waiting", position: 1 });
    await library.movePointer();
    isFaulty = false;
    await library.untilStatus("active");
    expect(traffic.ofKind("enter")).toHaveLength(1);
  });
}

test("a foreign 403 while joining is retried", async ({ page, servers, queue, traffic }) => {
  await queue.open(FULL);
  let isFaulty = true;
  await traffic.change((call) => isFaulty && replaceAnswer(call, 403, HTML));
  const library = await LibraryPage.open(page, servers.site, { queue: queue.id, base: servers.base });
  await library.untilConnection("retrying");
  expect((await library.state()).status).toBe("joining");
  isFaulty = false;
  await library.untilPosition(1);
  expect((await queue.run("stats"))["waiting"], "a repeated request finds the same place").toBe(1);
});

test("a queue that does not exist ends joining", async ({ page, servers, queue, traffic }) => {
  await traffic.record();
  const library = await LibraryPage.open(page, servers.site, { queue: queue.id, base: servers.base });
  const { problem } = await library.untilStatus("failed");
  expect([problem.code, problem.status]).toEqual(["unknown-queue", 404]);
  expect(traffic.calls.map(kindOf)).toEqual(["enter"]);
});

function replaceAnswer(call: Call, status: number, body: string | object): void {
  call.status = status;
  call.body = body;
  call.headers["content-type"] = typeof body === "string" ? "text/html" : "application/json";
}
