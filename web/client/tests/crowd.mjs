// A crowd of clients of the library in one Node.js, against a runner. For a minute all requests are refused with 503, as
// a gateway refuses them whose functions are down. Each visitor must get the turn, and the crowd must send hardly more
// requests than before the outage. The run takes five minutes.
//
// VESTIBULE_LOCAL_BIN names the runner.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { joinQueue } from "../dist/vestibule.js";

const VISITORS = 1_000;
const QUEUE = "crowd";
// All visitors have joined after this time.
const JOINING_MS = 10_000;
// 4 per second, so that the last visitor has the turn after some 250 s and the outage. A turn that comes as the outage begins
// can still be claimed after it, when the client asks again within some 14 s.
const SETTINGS = { capacity: 10_000, batch: 4, interval_seconds: 1, session_seconds: 3_600, claim_seconds: 90 };
const OUTAGE_MS = 60_000;
// The crowd has settled when the minute before the outage begins.
const OUTAGE_AT_MS = 100_000;
const RUN_MS_MAX = 600_000;
// A request that begins so soon after the last answer belongs to the same look at the queue.
const SAME_LOOK_MS = 200;

/** Starts a runner on a free port, and calls `use` with its address. */
async function withRunner(use) {
  const folder = await mkdtemp(join(tmpdir(), "vestibule-crowd-"));
  const options = ["--dir", folder, "--port", "0", "--demo-visitors", "0", "--quiet"];
  const runner = spawn(process.env.VESTIBULE_LOCAL_BIN, options, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => runner.once("exit", resolve));
  try {
    const address = await new Promise((resolve, reject) => {
      createInterface({ input: runner.stdout }).once("line", (line) => resolve(/http:[^ ]*[^/ ]/.exec(line)[0]));
      ended.then((code) => reject(new Error(`the runner ended with ${code}`)));
      runner.once("error", reject);
    });
    await use(address);
  } finally {
    runner.kill();
    await ended;
    await rm(folder, { recursive: true });
  }
}

/** The requests of a crowd. */
class Traffic {
  requests = 0;
  looks = 0;
  // The requests before the outage, in a time as long as it, and during the outage.
  before = 0;
  during = 0;
  refused = 0;
  #startedAtMs = performance.now();

  get #elapsedMs() {
    return performance.now() - this.#startedAtMs;
  }

  get isOutage() {
    return this.#elapsedMs >= OUTAGE_AT_MS && this.#elapsedMs < OUTAGE_AT_MS + OUTAGE_MS;
  }

  /** Returns the `fetch` of one client. */
  createFetch() {
    let answeredAtMs = -Infinity;
    return async (address, options) => {
      const untilOutageMs = OUTAGE_AT_MS - this.#elapsedMs;
      this.before += untilOutageMs > 0 && untilOutageMs <= OUTAGE_MS;
      this.during += this.isOutage;
      const answer = () => (this.isOutage ? this.#refuse() : fetch(address, options));
      // To enter and to claim are what the visitor came for, and no look at the line.
      if (options.method === "POST") return answer();
      this.requests++;
      this.looks += performance.now() - answeredAtMs > SAME_LOOK_MS;
      try {
        return await answer();
      } finally {
        answeredAtMs = performance.now();
      }
    };
  }

  async #refuse() {
    this.refused++;
    await sleep(20);
    // As the gateway answers by itself: see x-amazon-apigateway-gateway-responses in infra/openapi.yaml.
    const headers = { "Content-Type": "application/problem+json", "Retry-After": "2" };
    return new Response(JSON.stringify({ title: "Service Unavailable", code: "gateway" }), { status: 503, headers });
  }
}

/** Follows one visitor until the turn. Returns the last state. */
async function visit(base, traffic) {
  await sleep(Math.random() * JOINING_MS);
  const signal = AbortSignal.timeout(RUN_MS_MAX);
  const place = joinQueue({ queue: QUEUE, base, fetch: traffic.createFetch(), signal });
  let last;
  for await (const { status } of place) {
    last = status;
    // The shop takes over. The session goes on without the client.
    if (status === "active") break;
  }
  place.close();
  return last;
}

test("a crowd of clients gets its turns through an outage", { timeout: 2 * RUN_MS_MAX }, () =>
  withRunner(async (base) => {
    const command = { op: "create", queue: QUEUE, settings: SETTINGS };
    const headers = { "Content-Type": "application/json" };
    const created = await fetch(`${base}/_admin`, { method: "POST", headers, body: JSON.stringify(command) });
    assert.equal((await created.json()).ok, true);
    const traffic = new Traffic();
    const states = await Promise.all(Array.from({ length: VISITORS }, () => visit(base, traffic)));
    const { requests, looks, before, during, refused } = traffic;
    const requestsPerLook = requests / looks;
    console.log(`visitors=${VISITORS} requests_per_visitor=${(requests / VISITORS).toFixed(1)}`);
    console.log(`requests_per_look=${requestsPerLook.toFixed(3)} refused=${refused}`);
    console.log(`requests_before_outage=${before} requests_during_outage=${during}`);
    assert.deepEqual(states.filter((state) => state !== "active"), [], "lost turns");
    assert.ok(requestsPerLook <= 1.1, `${requestsPerLook} requests per look`);
    assert.ok(during <= 1.5 * before, `${during} requests instead of ${before}`);
    assert.ok(refused > VISITORS / 4, `the outage met ${refused} requests`);
  }),
);
