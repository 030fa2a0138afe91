// Sends two visitors through a queue by the types that openapi-typescript generates, with openapi-fetch. The queue has
// one slot. The first visitor gets it at once, so the second one waits until the service has completed the first.
// VESTIBULE_API is the address of the runner.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import createClient from "openapi-fetch";

import type { components, paths } from "./build/api";

type Entry = components["schemas"]["Entry"];

const QUEUE = "typescript";
const TURN_MAX_MS = 60_000;

const client = createClient<paths>({ baseUrl: process.env["VESTIBULE_API"]! });

const pathOf = (token: string) => ({ queue: QUEUE, token });
const headerOf = (visitor: string) => ({ "X-Visitor-Id": visitor });

async function enter(): Promise<[string, Entry]> {
  const visitor = randomUUID();
  const params = { path: { queue: QUEUE }, header: headerOf(visitor) };
  const { data, response } = await client.POST("/queues/{queue}/entries", { params, body: {} });
  assert.equal(response.status, 201);
  assert(data);
  return [visitor, data];
}

/** Polls as often as the answers say until the entry is ready. */
async function waitForTurn(visitor: string, entry: Entry): Promise<Entry> {
  const deadline = performance.now() + TURN_MAX_MS;
  while (entry.state === "waiting") {
    assert(performance.now() < deadline, "the turn did not come");
    assert(entry.retry_after_ms !== undefined, "only a proven visitor is told when to ask");
    await sleep(entry.retry_after_ms);
    const params = { path: pathOf(entry.token), header: headerOf(visitor), query: { wait: 5 } };
    const { data, error } = await client.GET("/queues/{queue}/entries/{token}", { params });
    assert(data, error?.code);
    entry = data;
  }
  assert.equal(entry.state, "ready");
  return entry;
}

const [first, active] = await enter();
assert.equal(active.state, "active");
const [second, waiting] = await enter();
assert.deepEqual([waiting.state, waiting.position], ["waiting", 1]);
const paramsOfSecond = { path: pathOf(waiting.token), header: headerOf(second) };
const early = await client.POST("/queues/{queue}/entries/{token}/claim", { params: paramsOfSecond });
assert.equal(early.error?.code, "not-your-turn");

const view = await client.GET("/queues/{queue}", { params: { path: { queue: QUEUE } } });
assert.deepEqual([view.data?.queue, view.data?.state], [QUEUE, "open"]);
const report = { params: { path: { queue: QUEUE } }, body: { tps: 3, healthy: true } };
assert.equal((await client.POST("/queues/{queue}/load", report)).response.status, 200);
const completedFirst = await client.POST("/queues/{queue}/entries/{token}/complete", {
  params: { path: pathOf(active.token) },
  body: { visitor: first },
});
assert.equal(completedFirst.response.status, 204);

const ready = await waitForTurn(second, waiting);
assert.equal(ready.token, waiting.token);
const claim = await client.POST("/queues/{queue}/entries/{token}/claim", { params: paramsOfSecond });
const pass = claim.data?.pass;
assert(claim.data?.state === "active" && pass);
const jwks = await client.GET("/.well-known/jwks.json");
assert.equal(jwks.data?.keys[0]?.alg, "ES256");

const validation = await client.POST("/queues/{queue}/entries/{token}/validate", {
  params: { path: pathOf(waiting.token) },
  body: { pass },
});
assert.deepEqual([validation.data?.valid, validation.data?.visit], [true, claim.data.visit]);
const extension = await client.POST("/queues/{queue}/entries/{token}/extend", {
  params: paramsOfSecond,
  body: { seconds: 600 },
});
assert((extension.data?.expires_at_ms ?? 0) > (claim.data.expires_at_ms ?? Infinity));

const completed = await client.POST("/queues/{queue}/entries/{token}/complete", {
  params: { path: pathOf(waiting.token) },
  body: { pass },
});
assert.equal(completed.response.status, 204);
const gone = await client.GET("/queues/{queue}/entries/{token}", { params: paramsOfSecond });
assert.deepEqual([gone.response.status, gone.error?.code], [410, "completed"]);
const left = await client.DELETE("/queues/{queue}/entries/{token}", { params: paramsOfSecond });
assert.equal(left.response.status, 204);
console.log("the client of openapi-typescript went through the queue");
