// The shell around the follower: requests, storage, timers and events, with a browser of stubs.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { farEntry, olderEntry, publicDocument } from "./samples.js";
import { Place } from "../vestibule.js";

let requests;
let answer;
let [nowMs, wallMs] = [0, 0];
const storages = { localStorage: new Map(), sessionStorage: new Map() };

for (const [name, items] of Object.entries(storages)) {
  const storage = { getItem: (key) => items.get(key) ?? null, setItem: (key, text) => items.set(key, text) };
  Object.defineProperty(globalThis, name, { value: storage, configurable: true });
}
globalThis.document = Object.assign(new EventTarget(), { visibilityState: "visible" });
globalThis.fetch = async (address, options) => {
  requests.push({ address, ...options });
  const { status = 200, body = {}, headers = {} } = await answer(address, options);
  return new Response(JSON.stringify(body), { status, headers });
};
mock.method(performance, "now", () => nowMs);
mock.method(Date, "now", () => wallMs);

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  requests = [];
  [nowMs, wallMs] = [1_000, 5_000_000];
  document.visibilityState = "visible";
  Object.values(storages).forEach((items) => items.clear());
});

async function pass(ms) {
  nowMs += ms;
  wallMs += ms;
  mock.timers.tick(ms);
  await settle();
}

// Lets the promises of a request settle.
async function settle() {
  for (let n = 0; n < 20; n++) await new Promise((done) => setImmediate(done));
}

async function joinedPlace(entry) {
  answer = (address) => ({ body: address.includes("/entries") ? entry : publicDocument() });
  const place = new Place({ queue: "q", base: "https://api.example" });
  const joined = place.join();
  await pass(0);
  await joined;
  return place;
}

const paths = () => requests.map(({ method = "GET", address }) => `${method} ${new URL(address).pathname}`);

test("a request for the document has no headers and no credentials", async () => {
  const place = await joinedPlace(farEntry());
  assert.deepEqual(paths(), ["POST /queues/q/entries"]);
  assert.ok(requests[0].headers["X-Visitor-Id"]);
  await pass(90_000);
  assert.deepEqual(paths().slice(1), ["GET /queues/q"]);
  const { headers, credentials, method, body } = requests[1];
  assert.deepEqual({ headers, credentials, method, body }, {
    headers: undefined,
    credentials: "omit",
    method: undefined,
    body: undefined,
  });
  assert.equal(place.view.isFollowing, true);
  place.stop();
});

test("an older server gets a document request after each answer, as before", async () => {
  const place = await joinedPlace(olderEntry());
  await pass(5_000);
  assert.deepEqual(paths(), [
    "POST /queues/q/entries",
    "GET /queues/q",
    "GET /queues/q/entries/t",
    "GET /queues/q",
  ]);
  assert.ok(requests[2].address.endsWith("?wait=5"));
  place.stop();
});

test("a stored place is asked, and its position is kept", async () => {
  (await joinedPlace(farEntry({ position: 70 }))).stop();
  requests = [];
  const place = await joinedPlace(farEntry({ position: 90 }));
  assert.deepEqual([paths(), place.position], [["GET /queues/q/entries/t"], 70]);
  await place.leave();
  assert.deepEqual(paths().at(-1), "DELETE /queues/q/entries/t");
  assert.deepEqual([place.entry.state, sessionStorage.getItem("vestibule:token:q")], ["left", ""]);
  await pass(3_600_000);
  assert.equal(requests.length, 2, "no request follows");
});

test("reading the document before joining keeps the stored place", async () => {
  sessionStorage.setItem("vestibule:token:q", "t");
  answer = () => ({ body: publicDocument() });
  const place = new Place({ queue: "q", base: "https://api.example" });
  assert.equal((await place.fetchPublicDocument()).rate, 10);
  assert.equal(sessionStorage.getItem("vestibule:token:q"), "t");
  await pass(3_600_000);
  assert.deepEqual(paths(), ["GET /queues/q"]);
});

test("joining retries an outage and rejects a closed queue", async () => {
  const place = new Place({ queue: "q", base: "https://api.example" });
  const codes = [];
  place.addEventListener("problem", (event) => codes.push(event.detail.code));
  answer = () => ({ status: 503, body: { code: "recovering" }, headers: { "Retry-After": "2" } });
  const joined = place.join();
  const rejected = assert.rejects(joined, { status: 409, code: "queue-closed" });
  await pass(0);
  await pass(1_999);
  assert.equal(requests.length, 1, "Retry-After is a floor");
  answer = (address) =>
    address.endsWith("/entries") ? { status: 409, body: { code: "queue-closed" } } : { body: publicDocument() };
  await pass(1_001);
  await rejected;
  assert.deepEqual(codes, ["recovering", "queue-closed"]);
  await settle();
  assert.deepEqual(paths().at(-1), "GET /queues/q", "the page may show the operator's message");
  assert.equal(place.view.hasProblem, true);
});

test("an answer after a stop is ignored", async () => {
  let respond;
  answer = () => new Promise((done) => (respond = () => done({ body: olderEntry() })));
  const place = new Place({ queue: "q", base: "https://api.example" });
  const joined = place.join();
  await pass(0);
  place.stop();
  await joined;
  respond();
  await settle();
  assert.deepEqual([place.entry, requests.length], [null, 1]);
});

test("a phone that slept asks as soon as the page is visible", async () => {
  const place = await joinedPlace(farEntry());
  document.visibilityState = "hidden";
  document.dispatchEvent(new Event("visibilitychange"));
  // Neither the timers nor the monotonic clock ran.
  wallMs += 3_600_000;
  document.visibilityState = "visible";
  document.dispatchEvent(new Event("visibilitychange"));
  await settle();
  assert.equal(requests.length, 2);
  place.stop();
});
