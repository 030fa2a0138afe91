// The bundle in surroundings that lack what a browser has.

import assert from "node:assert/strict";
import { test } from "node:test";

import type * as library from "../src/vestibule.js";
import { nearEntry } from "./samples.js";

// Node.js loads its own fetch late, and that needs some of these.
await new Response("{}").json();
await fetch("data:,");

const deleted = [
  "document",
  "EventTarget",
  "localStorage",
  "sessionStorage",
  "navigator",
  "BroadcastChannel",
  "CustomEvent",
];
for (const name of deleted) Reflect.deleteProperty(globalThis, name);
Reflect.deleteProperty(AbortSignal, "timeout");
Reflect.deleteProperty(AbortSignal, "any");

const bundle = new URL("../dist/vestibule.js", import.meta.url).href;
const { ProblemError, joinQueue, memoryStorage } = (await import(bundle)) as typeof library;

const active = nearEntry({ state: "active", pass: "p", retry_after_ms: 60_000, target_url: "" });

function fetchAnswering(...answers: [number, object][]): typeof fetch {
  return async () => {
    const [status, body] = answers.length > 1 ? answers.shift()! : answers[0]!;
    return new Response(JSON.stringify(body), { status });
  };
}

test("the globals are deleted", () => {
  for (const name of deleted) assert.equal(Reflect.get(globalThis, name), undefined, name);
  assert.equal(AbortSignal.timeout, undefined);
});

test("a program gets its turn", async () => {
  const near = nearEntry({ retry_after_ms: 250 });
  const ready = nearEntry({ state: "ready", retry_after_ms: 250 });
  const fetch = fetchAnswering([201, near], [503, {}], [200, ready], [200, active]);
  const place = joinQueue({ queue: "q", base: "http://api.example", fetch, storage: memoryStorage() });
  const statuses: string[] = [];
  for await (const state of place) {
    statuses.push(`${state.status} ${state.connection}`);
    if (state.status === "active") break;
  }
  place.close();
  assert.equal(statuses[0], "joining online");
  assert.deepEqual(statuses.slice(-4), ["waiting online", "waiting retrying", "ready online", "active online"]);
});

test("a refusal is a ProblemError", async () => {
  const fetch = fetchAnswering([404, { code: "unknown-queue", title: "The queue does not exist", field: "queue" }]);
  const place = joinQueue({ queue: "q", base: "http://api.example", fetch });
  for await (const state of place) {
    if (state.status === "joining") continue;
    assert.equal(state.status, "failed");
    assert.ok(state.problem instanceof ProblemError);
    const { code, status, message, body, name } = state.problem;
    assert.deepEqual([code, status, message, name], ["unknown-queue", 404, "The queue does not exist", "ProblemError"]);
    assert.equal(body["field"], "queue");
  }
});

test("a server that is not there is asked again", async () => {
  const place = joinQueue({ queue: "q", base: "http://127.0.0.1:1" });
  for await (const { connection, problem } of place) {
    if (connection !== "retrying") continue;
    assert.equal(problem?.code, "network");
    break;
  }
  place.close();
});
