// The way to the shop, and the way out of the line.

import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { HandOver } from "../src/hand_over.js";
import { Leaving } from "../src/leaving.js";

const SHOP = "https://shop.example/checkout#pass=p";
let storage: Map<string, string>;
let isForbidden: boolean;
let visits: string[];

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  [storage, isForbidden, visits] = [new Map(), false, []];
  const area = { getItem: (key: string) => storage.get(key) ?? null, setItem: (key: string, value: string) => storage.set(key, value) };
  Object.defineProperty(globalThis, "sessionStorage", { get: () => (isForbidden ? assert.fail("SecurityError") : area), configurable: true });
  const location = { href: "https://wait.example/", replace: (address: string) => visits.push(address) };
  Object.assign(globalThis, { location, document: { referrer: "" } });
});

afterEach(() => {
  for (const name of ["sessionStorage", "location", "document"]) Reflect.deleteProperty(globalThis, name);
  mock.timers.reset();
});

// Loads the page once more, and goes to the shop.
function arrive(token = "t"): boolean {
  const handOver = new HandOver();
  handOver.go(SHOP, token);
  handOver.go(SHOP, token);
  return handOver.isLooping;
}

test("a shop that sends its visitor back again and again is left alone", () => {
  assert.deepEqual([arrive(), arrive(), arrive(), arrive()], [false, false, true, true]);
  assert.deepEqual(visits, [SHOP, SHOP]);
  mock.timers.tick(60_001);
  assert.equal(arrive(), false, "a minute later it is no loop");
});

test("another entry is no loop", () => {
  assert.deepEqual(["a", "b", "c", "d"].map(arrive), [false, false, false, false]);
  assert.equal(visits.length, 4);
});

test("without a storage a visitor who comes from the shop goes back by hand", () => {
  isForbidden = true;
  assert.equal(arrive(), false);
  Object.assign(globalThis, { document: { referrer: "https://shop.example/" } });
  assert.equal(arrive(), true);
  Object.assign(globalThis, { document: { referrer: "https://shop.example.evil/" } });
  assert.equal(arrive(), false);
  assert.equal(visits.length, 2);
});

// Leaves in a page, and returns what was called.
function depart() {
  const calls: string[] = [];
  const page = new EventTarget();
  Object.assign(globalThis, {
    addEventListener: page.addEventListener.bind(page),
    removeEventListener: page.removeEventListener.bind(page),
  });
  const leaving = new Leaving(() => calls.push("leave"), () => calls.push("change"));
  leaving.depart();
  return { calls, leaving, close: () => page.dispatchEvent(new Event("pagehide")) };
}

test("leaving sends the request after ten seconds, and once", () => {
  const { calls, leaving, close } = depart();
  assert.ok(leaving.undoUntilMs > performance.now());
  mock.timers.tick(9_999);
  assert.deepEqual(calls, ["change"]);
  mock.timers.tick(1);
  assert.deepEqual(calls, ["change", "change", "leave"]);
  close();
  leaving.finish();
  assert.deepEqual([calls.length, leaving.undoUntilMs], [3, 0]);
});

test("leaving can be taken back", () => {
  const { calls, leaving, close } = depart();
  leaving.undo();
  mock.timers.tick(20_000);
  close();
  assert.deepEqual([calls, leaving.undoUntilMs], [["change", "change"], 0]);
});

test("a page that closes leaves at once", () => {
  const { calls, close } = depart();
  close();
  assert.deepEqual(calls, ["change", "change", "leave"]);
});
