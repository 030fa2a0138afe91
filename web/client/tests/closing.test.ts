// A visitor who closes the page, in a queue with `leave_on_close`.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { leaveOnClose } from "../src/closing.js";
import { memoryStorage } from "../src/storage.js";
import type { Place, PlaceStorage } from "../src/types.js";
import { FakeChannel, FakeLocks } from "./fake_browser.js";
import { farEntry, nearEntry, publicDocument } from "./samples.js";
import { FakePresence, settle, useScene } from "./scene.js";

const CLOSED = "DELETE /queues/q/entries/t?visit=1&closed=true";
const LOOK = "GET /queues/q/entries/t?wait=0";

const scene = useScene();
const leaving = farEntry({ leave_on_close: true });
let locks: FakeLocks;
let storage: PlaceStorage;
let page: EventTarget;

beforeEach(() => {
  locks = new FakeLocks();
  storage = memoryStorage();
  page = new EventTarget();
  FakeChannel.all.clear();
  Object.assign(globalThis, { BroadcastChannel: FakeChannel, addEventListener: page.addEventListener.bind(page) });
  Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });
});

function answerWith(entry: object): void {
  scene().answer = ({ method, path }) => {
    if (method === "DELETE") return { status: 202, body: { leaves_in_ms: 15_000 } };
    return { body: path.includes("/entries") ? entry : publicDocument({ now_ms: scene().nowMs }) };
  };
}

/** Opens a tab of the visitor whose page leaves by closing. */
function openTab(): Place {
  return scene().join({ storage, presence: new FakePresence(), whenClosed: leaveOnClose });
}

/** Opens a tab, ends it, and opens another one with its place. */
async function loadAgain(): Promise<void> {
  const place = openTab();
  await scene().pass(500);
  place.close();
  await settle();
  openTab();
  await scene().pass(500);
}

async function hidePage(persisted: boolean): Promise<void> {
  page.dispatchEvent(Object.assign(new Event("pagehide"), { persisted }));
  await settle();
}

/** How often this request was sent. */
function count(path: string): number {
  return scene().paths.filter((sent) => sent === path).length;
}

test("the page that closes tells the server, by a request that outlives it", async () => {
  answerWith(leaving);
  const place = openTab();
  await scene().pass(500);
  await hidePage(false);
  assert.equal(count(CLOSED), 1);
  const { keepalive, headers } = scene().requests.at(-1)!;
  assert.ok(keepalive && headers["X-Visitor-Id"]);
  assert.equal(place.state.status, "waiting", "the page may be loaded again");
});

test("the page that enters asks no second time", async () => {
  answerWith(leaving);
  openTab();
  await scene().pass(8_000);
  assert.equal(count(LOOK), 0);
});

test("a page that is loaded again asks at once, and once more", async () => {
  answerWith(leaving);
  await loadAgain();
  assert.equal(count(LOOK), 1);
  await scene().pass(4_000);
  assert.equal(count(LOOK), 1);
  await scene().pass(1_500);
  assert.equal(count(LOOK), 2, "the message of the closed page may come late");
});

test("the next tab that leads asks at once, and once more", async () => {
  answerWith(leaving);
  openTab();
  await scene().pass(500);
  openTab();
  await scene().pass(500);
  assert.equal(count(LOOK), 0);
  locks.crashHolder("queues/q");
  await settle();
  assert.equal(count(LOOK), 1);
  await scene().pass(5_250);
  assert.equal(count(LOOK), 2);
});

test("only the tab that leads tells of its closing", async () => {
  answerWith(leaving);
  openTab();
  await scene().pass(500);
  page = new EventTarget();
  Object.assign(globalThis, { addEventListener: page.addEventListener.bind(page) });
  openTab();
  await scene().pass(500);
  await hidePage(false);
  assert.equal(count(CLOSED), 0);
});

test("a page that the browser keeps is not closed", async () => {
  answerWith(leaving);
  openTab();
  await scene().pass(500);
  await hidePage(true);
  assert.equal(count(CLOSED), 0);
});

test("a place that was closed or let in is not left", async () => {
  answerWith(leaving);
  const place = openTab();
  await scene().pass(500);
  place.close();
  await hidePage(false);
  answerWith(nearEntry({ state: "active", pass: "p", expires_in_ms: 300_000, target_url: "" }));
  openTab();
  await scene().pass(500);
  await hidePage(false);
  assert.equal(count(CLOSED), 0);
});

test("a queue without the setting hears nothing of the closing", async () => {
  answerWith(farEntry());
  await loadAgain();
  await scene().pass(6_000);
  await hidePage(false);
  assert.equal(count(CLOSED), 0);
  assert.equal(count(LOOK), 1, "as every page that is loaded again");
});

test("without locks no page tells of its closing", async () => {
  Object.defineProperty(globalThis, "navigator", { value: {}, configurable: true });
  answerWith(leaving);
  openTab();
  await scene().pass(500);
  await hidePage(false);
  assert.equal(count(CLOSED), 0, "another tab may be open");
});
