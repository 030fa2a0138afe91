// A browser that lets the page store nothing: the place is kept in the tab's history, which a reload keeps.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import type { Place } from "../src/types.js";
import { farEntry, nearEntry } from "./samples.js";
import { FakePresence, settle, useScene } from "./scene.js";

const scene = useScene();

class FakeHistory {
  isForbidden = false;
  state: any = null;

  replaceState(state: unknown): void {
    if (this.isForbidden) throw new Error("SecurityError");
    this.state = structuredClone(state);
  }
}

let history: FakeHistory;
let storage: Map<string, string>;
let refusal: "" | "access" | "write";

beforeEach(() => {
  [history, storage, refusal] = [new FakeHistory(), new Map(), "access"];
  const area = {
    getItem: (key: string) => storage.get(key) ?? null,
    setItem: (key: string, value: string) => (refusal ? assert.fail("QuotaExceededError") : storage.set(key, value)),
  };
  const get = () => (refusal === "access" ? assert.fail("SecurityError") : area);
  for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(globalThis, name, { get, configurable: true });
  Object.assign(globalThis, { document: {}, history });
});

afterEach(() => {
  for (const name of ["document", "history", "localStorage", "sessionStorage"]) Reflect.deleteProperty(globalThis, name);
});

async function load(): Promise<Place> {
  const place = await scene().joinWith(farEntry(), { presence: new FakePresence() });
  await settle();
  return place;
}

test("without a storage a reload keeps visitor and place", async () => {
  for (refusal of ["access", "write"] as const) {
    Object.assign(history, { state: null });
    Object.assign(scene(), { requests: [] });
    const place = await load();
    assert.equal(place.state.isUnstored, false);
    place.close();
    await load();
    assert.deepEqual(scene().paths, ["POST /queues/q/entries", "GET /queues/q/entries/t?wait=0"]);
    const [first, second] = scene().requests.map((request) => request.headers["X-Visitor-Id"]);
    assert.ok(first && first === second);
  }
});

test("what the page of a shop has in its history stays", async () => {
  history.state = { scroll: 7, nested: { a: [1] } };
  await load();
  const { scroll, nested, ...own } = history.state;
  assert.deepEqual({ scroll, nested }, { scroll: 7, nested: { a: [1] } });
  assert.ok(Object.keys(own).length > 0 && Object.keys(own).every((key) => key.startsWith("vestibule:")));
});

test("a history that the page has replaced gets visitor and place again", async () => {
  await scene().joinWith(nearEntry({ position: 9, retry_after_ms: 1_000 }), { presence: new FakePresence() });
  history.state = { page: 2 };
  scene().answer = () => ({ body: nearEntry({ position: 8, retry_after_ms: 1_000 }) });
  await scene().pass(1_000);
  const { page, ...own } = history.state;
  assert.equal(page, 2);
  assert.equal(own["vestibule:visitor"], scene().requests[0]!.headers["X-Visitor-Id"]);
  assert.equal(own["vestibule:place:https://api.example/queues/q"], "t 1 8");
});

test("a page that can keep a place nowhere says so, and the place goes on", async () => {
  const broken: (() => void)[] = [
    () => (history.isForbidden = true),
    () => (history.state = "a text of the shop"),
    () => (history.state = [1, 2]),
    () => (history.state = new Date(0)),
    () => Reflect.deleteProperty(globalThis, "history"),
  ];
  for (const breakHistory of broken) {
    history = new FakeHistory();
    Object.assign(globalThis, { history });
    breakHistory();
    const before = structuredClone(history.state);
    const place = await load();
    assert.deepEqual([place.state.status, place.state.isUnstored], ["waiting", true]);
    assert.deepEqual(history.state, before);
    place.close();
  }
});

test("with a storage the history stays as it is", async () => {
  refusal = "";
  const place = await load();
  assert.deepEqual([history.state, place.state.isUnstored, storage.has("vestibule:visitor")], [null, false, true]);
});
