// The library far from the head of a long line: it reads the public document of another origin.

import { FULL } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";
import { LibraryPage } from "../harness/library_page.js";

// So many entries are called at once that a shorter line has no one who reads the document. More are called when those have
// been silent for `call_seconds`, and on a busy machine it takes long to fill the line.
const CALLED = 500;
const FULL_AND_SILENT = { ...FULL, call_seconds: 3_600 };
// The headers that a browser sends by itself with a request without headers. Those with the prefix `sec-` are too.
const BROWSER_HEADERS = ["accept", "accept-encoding", "accept-language", "connection", "host", "origin", "referer"];
const isOfBrowser = (name: string) => [...BROWSER_HEADERS, "user-agent"].includes(name) || name.startsWith("sec-");

test("document of another origin needs no preflight", async ({ page, servers, queue }) => {
  await queue.open(FULL_AND_SILENT);
  await Promise.all(Array.from({ length: CALLED + 50 }, () => queue.enter()));
  // Playwright hides preflights, and the browser does not.
  const session = await page.context().newCDPSession(page);
  const preflights: string[] = [];
  session.on("Network.requestWillBeSent", ({ type, request }) => {
    if (type === "Preflight" || request.method === "OPTIONS") preflights.push(new URL(request.url).pathname);
  });
  await session.send("Network.enable");
  const document = `/queues/${encodeURIComponent(queue.id)}`;
  const documentHeaders: Record<string, string>[] = [];
  const entryHeaders: Record<string, string>[] = [];
  page.on("requestfinished", async (request) => {
    const { pathname } = new URL(request.url());
    if (!pathname.startsWith(document)) return;
    (pathname === document ? documentHeaders : entryHeaders).push(await request.allHeaders());
  });

  const library = await LibraryPage.open(page, servers.site, { queue: queue.id, base: servers.base });
  await library.untilPosition(CALLED + 51);
  await expect.poll(() => [documentHeaders.length > 0, entryHeaders.length > 0]).toEqual([true, true]);
  for (const headers of documentHeaders) {
    const names = Object.keys(headers).filter((name) => !isOfBrowser(name));
    expect(names, "headers that the library has set").toEqual([]);
    expect(headers["accept"]).toBe("*/*");
  }
  // The requests about the entry have preflights, so the test would notice another.
  expect(entryHeaders.every((headers) => "x-visitor-id" in headers)).toBe(true);
  expect(preflights.length).toBeGreaterThan(0);
  expect(preflights.filter((path) => path === document)).toEqual([]);
});
