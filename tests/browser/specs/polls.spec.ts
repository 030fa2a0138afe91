// The timing of the requests, which the server controls. The bounds are what the server named, and nothing is asserted
// about how late a request comes: that depends on the machine.

import { FULL, TWO_TURNS, type Json } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";
import { bodyOf, kindOf, type Call } from "../harness/traffic.js";
import { WaitingPage } from "../harness/waiting_page.js";

// The most in milliseconds by which the timers of the browser and of this process differ.
const TIMER_TOLERANCE_MS = 20;
const TROUBLE = "Connection lost. Trying again…";

test("polls come at the time that the server names", async ({ page, servers, queue, traffic }) => {
  const retryAfterMs = [1_500, 400, 2_500, 900];
  // The line does not move and no poll is held, so every poll is answered at once.
  await queue.open(FULL);
  let count = 0;
  await traffic.change((call) => {
    const body = bodyOf(call);
    if (body["retry_after_ms"]) body["retry_after_ms"] = retryAfterMs[count++ % retryAfterMs.length];
  });
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await expect.poll(() => entryCalls(traffic.calls).length).toBeGreaterThanOrEqual(7);
  const calls = entryCalls(traffic.calls);
  for (const [n, call] of calls.slice(1).entries()) {
    expectGap(calls[n]!, call, bodyOf(calls[n]!)["retry_after_ms"]);
  }
  await waiting.expectPosition(1);
});

test("page waits for Retry-After and keeps its place", async ({ page, servers, queue, traffic }) => {
  const refusedSeconds = 3;
  // No poll is held.
  await queue.open(TWO_TURNS);
  await traffic.shortenPolls();
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(1);
  let count = 0;
  await traffic.change((call) => {
    if (kindOf(call) !== "status" || count++ >= 2) return;
    call.status = 429;
    call.headers["retry-after"] = String(refusedSeconds);
    call.body = { status: 429, code: "too-many-requests", title: "Too often" };
  });
  await expect(waiting.part("strip")).toHaveText(TROUBLE);
  await waiting.expectPosition(1);
  await waiting.expectHidden("strip");
  await waiting.expectPosition(1);
  const calls = entryCalls(traffic.calls);
  const refused = calls.filter((call, n) => call.status === 429 && n + 1 < calls.length);
  expect(refused).toHaveLength(2);
  for (const call of refused) expectGap(call, calls[calls.indexOf(call) + 1]!, 1_000 * refusedSeconds);

  await waiting.movePointer();
  await queue.completeActive();
  await waiting.expectHeadline("You’re in");
});

const REFRESH_MS = 400;
// The least that the jitter leaves of it.
const REFRESH_MS_MIN = 300;

// An answer about the entry with the place 40,000, without `look_after_ms`.
const nearEntry = (position: number): Json => ({
  ...{ queue: "q", token: "t", visit: 1, state: "waiting", queue_state: "open", position, gone_ahead: 10 },
  ...{ place: 40_000, lane: 0, retry_after_ms: REFRESH_MS, estimated_wait_seconds: { low: 15, high: 21 } },
});

const farEntry = (position: number): Json => ({ ...nearEntry(position), look_after_ms: 600_000 });

const publicDocument = (goneAhead: number, checkInThrough: number): Json => ({
  ...{ queue: "q", state: "open", epoch: 1, min_epoch: 1, generation: 1, waiting: 50, rate: 0.1, entrance: "open" },
  ...{ resync_ms: 1_000, refresh_near_ms: REFRESH_MS, refresh_far_ms: REFRESH_MS, paused: false },
  ...{ message: "From the document", estimated_waits: [{ position: 25, low: 200, high: 290 }] },
  lanes: {
    0: { promoted_through: 1_000, passed_through: 1_000, check_in_through: checkInThrough, gone_ahead: goneAhead },
  },
});

test("page sends one request per look", async ({ page, servers, queue, traffic }) => {
  const answers: Record<string, Json> = { document: publicDocument(10, 2_000), status: farEntry(40) };
  await traffic.change((call) => {
    const kind = kindOf(call) === "enter" ? "status" : kindOf(call);
    call.status = 200;
    call.body = { ...answers[kind] };
    // A newer document has a later time.
    if (kind === "document") call.body["now_ms"] = 1_000 * traffic.calls.length;
  });
  const waiting = await WaitingPage.open(page, servers.base, queue.id);
  await waiting.expectPosition(40);
  await traffic.untilAnswered(3, "document", "state", "open");
  answers["document"] = publicDocument(25, 2_000);
  await waiting.expectPosition(25);
  // By the document's expected wait at position 25.
  await expect(waiting.part("range")).toHaveText("About 3–5 minutes");
  await expect(waiting.part("message")).toHaveText("From the document");
  expect(traffic.calls.filter((call) => kindOf(call) !== "document")).toHaveLength(1);
  expectRefreshGaps(traffic.ofKind("document"));

  answers["status"] = { ...nearEntry(20), message: "From the entry" };
  answers["document"] = publicDocument(30, 40_000);
  // The document tells the position first, and that the entry is called.
  await expect(waiting.part("message")).toHaveText("From the entry");
  await waiting.expectPosition(20);
  await traffic.untilAnswered(3, "status", "state", "waiting");
  const kinds = traffic.calls.map(kindOf);
  const near = kinds.slice(kinds.indexOf("status"));
  expect(near, "near the head only the entry is asked").toEqual(near.map(() => "status"));
  expectRefreshGaps(traffic.ofKind("status"));

  answers["claim"] = { ...nearEntry(1), state: "active", pass: "p", expires_in_ms: 3_000_000, retry_after_ms: 60_000 };
  answers["status"] = { ...nearEntry(1), state: "ready", claim_in_ms: 30_000 };
  await waiting.movePointer();
  await waiting.expectHeadline("You’re in");
  await expect(waiting.part("detail")).toHaveText(/(50 minutes|49 minutes, \d+ seconds?) left/);
  expect(afterClaim(traffic.calls), "the answer has all that the page shows").toEqual([]);
});

function afterClaim(calls: readonly Call[]): string[] {
  const kinds = calls.map(kindOf);
  return kinds.slice(kinds.indexOf("claim") + 1);
}

// The calls about the entry, without the public document, which may come from a cache.
function entryCalls(calls: readonly Call[]): Call[] {
  return calls.filter((call) => call.path.includes("/entries"));
}

// Expects that two requests of a kind are never nearer than the interval allows.
function expectRefreshGaps(calls: readonly Call[]): void {
  for (const [n, call] of calls.slice(1).entries()) expectGap(calls[n]!, call, REFRESH_MS_MIN);
}

function expectGap(before: Call, next: Call, retryAfterMs: number): void {
  const gapMs = next.receivedAtMs - before.answeredAtMs;
  expect(gapMs, `${next.method} ${next.path}`).toBeGreaterThanOrEqual(retryAfterMs - TIMER_TOLERANCE_MS);
}
