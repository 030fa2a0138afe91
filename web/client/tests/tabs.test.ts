// Several tabs of one visitor: one polls for all.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { memoryStorage } from "../src/storage.js";
import type { Place, PlaceStorage, QueueOptions } from "../src/types.js";
import { FakeChannel, FakeLocks } from "./fake_browser.js";
import { farEntry, nearEntry, publicDocument } from "./samples.js";
import { FakePresence, settle, stateOf, useScene } from "./scene.js";

const scene = useScene();
const ready = nearEntry({ state: "ready", claim_in_ms: 60_000, retry_after_ms: 1_000 });
const active = nearEntry({
  state: "active",
  pass: "p",
  expires_in_ms: 300_000,
  retry_after_ms: 60_000,
  target_url: "",
});
let locks: FakeLocks;
let storage: PlaceStorage;

beforeEach(() => {
  locks = new FakeLocks();
  storage = memoryStorage();
  FakeChannel.all.clear();
  FakeChannel.isMuted = false;
  Object.assign(globalThis, { BroadcastChannel: FakeChannel });
  Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });
});

/** Opens a tab of the visitor. */
function openTab(options: Partial<QueueOptions> = {}) {
  const presence = new FakePresence();
  const place = scene().join({ storage, presence, ...options });
  return { place, presence };
}

test("two tabs that open at once enter once", async () => {
  scene().answer = () => ({ body: nearEntry({ position: 4 }) });
  const tabs = [openTab(), openTab(), openTab()];
  await scene().pass(500);
  assert.deepEqual(scene().paths, ["POST /queues/q/entries"]);
  for (const { place } of tabs) assert.equal(stateOf("waiting", place).position, 4);
});

test("a second tab shows the state at once, and sends nothing", async () => {
  scene().answer = () => ({ body: ready });
  const first = openTab({ confirm: "manual" });
  await scene().pass(500);
  const second = openTab({ confirm: "manual" });
  const count = scene().requests.length;
  await settle();
  assert.equal(scene().requests.length, count);
  const [one, two] = [first, second].map(({ place }) => stateOf("ready", place).endsAtMs);
  assert.equal(one, two, "the time since the answer counts");
});

test("all tabs follow the polls of one", async () => {
  scene().answer = () => ({ body: nearEntry({ position: 9, retry_after_ms: 1_000 }) });
  const tabs = [openTab(), openTab()];
  await scene().pass(500);
  let position = 9;
  scene().answer = () => ({ body: nearEntry({ position: --position, retry_after_ms: 1_000 }) });
  await scene().pass(5_000);
  assert.equal(scene().requests.length, 6, "as many as one tab sends");
  for (const { place } of tabs) assert.equal(stateOf("waiting", place).position, 4);
});

test("the next tab continues when the leader is closed", async () => {
  scene().answer = () => ({ body: nearEntry({ retry_after_ms: 1_000 }) });
  const [first, second] = [openTab(), openTab()];
  await scene().pass(1_500);
  first.place.close();
  await scene().pass(2_000);
  assert.equal(second.place.state.status, "waiting");
  assert.deepEqual(new Set(scene().paths.slice(1)), new Set(["GET /queues/q/entries/t?wait=5"]));
  assert.ok(scene().requests.length >= 4);
});

test("the next tab continues when the leader crashes while it enters", async () => {
  scene().answer = () => new Promise(() => {});
  openTab();
  await settle();
  const second = openTab();
  await settle();
  scene().answer = () => ({ body: nearEntry() });
  locks.crashHolder("queues/q");
  await scene().pass(500);
  assert.equal(second.place.state.status, "waiting");
  const ids = scene().requests.map((request) => request.headers["X-Visitor-Id"]);
  assert.equal(new Set(ids).size, 1, "the same visitor enters");
});

test("a tab takes over from a frozen leader when its request is late", async () => {
  let isFrozen = false;
  scene().answer = () => ({ body: nearEntry({ retry_after_ms: 1_000 }) });
  openTab({ headers: () => (isFrozen ? new Promise(() => {}) : { tab: "first" }) });
  await settle();
  const second = openTab({ headers: () => ({ tab: "second" }) });
  await settle();
  // The browser freezes the leader: its requests are not sent, and it does not hear that its lock is stolen.
  isFrozen = true;
  locks.freezeHolder("queues/q");
  FakeChannel.all.delete([...FakeChannel.all].find(({ name }) => name.includes("queues/q"))!);
  await scene().pass(17_000);
  assert.equal(scene().requests.length, 1, "the request of the leader may still be held");
  await scene().pass(5_000);
  assert.ok(scene().requests.length > 3);
  assert.equal(scene().requests.at(-1)!.headers["tab"], "second");
  assert.deepEqual([second.place.state.status, second.place.state.connection], ["waiting", "online"]);
});

test("the tab that is shown leads", async () => {
  scene().answer = () => ({ body: nearEntry({ retry_after_ms: 1_000 }) });
  const [first, second] = [openTab(), openTab()];
  await settle();
  first.presence.show(false);
  second.presence.show(false);
  await scene().pass(2_500);
  assert.equal(scene().paths.at(-1), "GET /queues/q/entries/t?wait=20");
  second.presence.show(true);
  await scene().pass(2_500);
  assert.equal(scene().paths.at(-1), "GET /queues/q/entries/t?wait=5");
  assert.equal(locks.holders, 1);
  assert.equal(first.place.state.status, "waiting");
});

test("a turn is claimed once, by the tab that the visitor attends to", async () => {
  scene().answer = () => ({ body: nearEntry({ retry_after_ms: 1_000 }) });
  const [first, second] = [openTab(), openTab()];
  await settle();
  first.presence.show(false);
  await scene().pass(70_000, 500);
  scene().answer = ({ method }) => ({ body: method === "POST" ? active : ready });
  await scene().pass(2_000);
  assert.equal(stateOf("ready", second.place).needsInput, true);
  second.presence.input();
  await scene().pass(1_000);
  assert.equal(scene().paths.filter((path) => path.endsWith("claim")).length, 1);
  for (const { place } of [first, second]) assert.equal(stateOf("active", place).pass, "p");
});

test("claim() and leave() in one tab change all tabs", async () => {
  scene().answer = () => ({ body: ready });
  const [first, second] = [openTab({ confirm: "manual" }), openTab({ confirm: "manual" })];
  await scene().pass(500);
  scene().answer = ({ method }) =>
    method === "DELETE" ? { status: 204 } : { body: method === "POST" ? active : ready };
  assert.equal((await second.place.claim()).pass, "p");
  await settle();
  assert.equal(first.place.state.status, "active");
  await second.place.leave();
  await settle();
  assert.deepEqual([first.place.state.status, second.place.state.status], ["left", "left"]);
  assert.equal(locks.holders, 0);
});

test("the end of the visit reaches all tabs, with its problem", async () => {
  scene().answer = () => ({ body: nearEntry({ retry_after_ms: 1_000 }) });
  const tabs = [openTab(), openTab()];
  await settle();
  scene().answer = () => ({ status: 404, body: { code: "unknown-entry", title: "The entry does not exist" } });
  await scene().pass(1_500);
  for (const { place } of tabs) {
    assert.equal(stateOf("failed", place).problem.code, "unknown-entry");
    assert.equal(place.state.problem?.message, "The entry does not exist");
  }
});

test("an answer to a new tab changes nothing in the others", async () => {
  scene().answer = ({ path }) => ({ body: path.includes("/entries") ? farEntry() : document() });
  const changes = { rate: 100, message: "From the document" };
  const document = () => publicDocument({ ...changes, now_ms: scene().nowMs }, { gone_ahead: 2_000 });
  const [first, second] = [openTab(), openTab()];
  await scene().pass(80_000, 1_000);
  const describe = () =>
    [first, second].map(({ place }) => {
      const { position, estimatedWaitSeconds, queue } = stateOf("waiting", place);
      return { position, estimatedWaitSeconds, message: queue.message };
    });
  const before = describe();
  assert.deepEqual([before[1]!.position, before[1]!.message], [3_000, "From the document"]);
  assert.ok(before[1]!.estimatedWaitSeconds!.high <= 40);
  const third = openTab();
  await settle();
  assert.equal(stateOf("waiting", third.place).position, 3_000);
  assert.deepEqual(describe(), before);
});

test("a tab that heard nothing asks for the stored place when it leads", async () => {
  scene().answer = () => ({ body: nearEntry({ retry_after_ms: 1_000 }) });
  openTab();
  const second = openTab();
  FakeChannel.isMuted = true;
  await scene().pass(250);
  assert.equal(second.place.state.status, "joining");
  locks.crashHolder("queues/q");
  await scene().pass(250);
  assert.deepEqual(scene().paths, ["POST /queues/q/entries", "GET /queues/q/entries/t?wait=0"]);
  assert.equal(second.place.state.status, "waiting");
});

test("a page that may not use locks follows its place alone", async () => {
  locks.isForbidden = true;
  scene().answer = () => ({ body: nearEntry({ retry_after_ms: 1_000 }) });
  const [first, second] = [openTab(), openTab()];
  await scene().pass(3_000);
  assert.deepEqual([first.place.state.status, second.place.state.status], ["waiting", "waiting"]);
  assert.ok(scene().requests.length < 20);
});

test("visitors with storages of their own do not share a poll", async () => {
  scene().answer = () => ({ body: nearEntry({ retry_after_ms: 1_000 }) });
  openTab({ storage: memoryStorage() });
  openTab({ storage: memoryStorage() });
  await scene().pass(500);
  assert.equal(scene().paths.filter((path) => path.startsWith("POST")).length, 2);
});

test("a page that is mounted twice, as React does, follows its place once", async () => {
  scene().answer = () => ({ body: nearEntry({ retry_after_ms: 1_000 }) });
  const first = openTab();
  first.place.close();
  const second = openTab();
  await scene().pass(2_500);
  assert.equal(second.place.state.status, "waiting");
  assert.equal(scene().paths.filter((path) => path.startsWith("POST")).length, 1);
  assert.equal(scene().requests.length, 3);
});

test("a tab that goes on as another account leaves the others their place", async () => {
  const ticketOf = (sub: string) => `e30.${Buffer.from(JSON.stringify({ sub })).toString("base64url")}.s`;
  scene().answer = ({ method, path, body }) => {
    const isBob = method === "POST" ? (body as string).includes(ticketOf("bob")) : path.includes("/bob");
    return { body: nearEntry({ token: isBob ? "bob" : "ada", position: isBob ? 9 : 4, retry_after_ms: 1_000 }) };
  };
  const untilJoined = async ({ place }: { place: Place }) => {
    do await settle();
    while (place.state.status === "joining");
  };
  const first = openTab({ ticket: ticketOf("ada") });
  await untilJoined(first);
  const second = openTab({ ticket: ticketOf("bob") });
  await untilJoined(second);
  assert.equal(stateOf("waiting", second.place).position, 4, "until the visitor chooses, it shows the place of both");
  second.place.changeAccount();
  await settle();
  await untilJoined(second);

  scene().requests = [];
  await scene().pass(3_000);
  assert.deepEqual([first, second].map(({ place }) => stateOf("waiting", place).position), [4, 9]);
  const tokens = scene().requests.map(({ path }) => path.split(/[/?]/)[4]);
  assert.deepEqual([...new Set(tokens)].sort(), ["ada", "bob"], "each place is polled");
});
