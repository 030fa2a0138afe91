// Random runs of a follower against a small model of the server and its caches. A failure prints its seed.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { EntryAnswer, PublicDocument } from "../src/answers.js";
import { Follower } from "../src/follower.js";
import { joinAt, noAnswer, receiveDocument, receiveEntry, receiveFailure, unavailable } from "./samples.js";

const SEEDS = 400;
const LOOK_AFTER_MS = 600_000;
const REFRESH_FAR_MS = 60_000;
const PLACE_STEP = 256;

// The generator mulberry32.
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A line in which entries are promoted, leave, and come back. Entry number n has the place n * PLACE_STEP. */
class ModelServer {
  nowMs = 0;
  #random: () => number;
  #rate: number;
  #passed = 0;
  #left = 0;
  #goneAhead = 0;
  #epoch = 1;
  #generation = 1;
  #visit = 1;
  #isPaused = false;
  #window = 500;
  #own: number;

  constructor(random: () => number) {
    this.#random = random;
    this.#rate = 1 + random() * 100;
    this.#own = 600 + Math.floor(random() * 20_000);
  }

  advanceTo(nowMs: number) {
    for (; this.nowMs < nowMs; this.nowMs += 500) {
      if (this.#random() < 0.005) this.#isPaused = !this.#isPaused;
      if (this.#random() < 0.02) this.#rate = Math.max(0.5, this.#rate * (0.5 + this.#random()));
      if (this.#random() < 0.01) this.#restore();
      const steps = this.#isPaused ? 0 : Math.floor(this.#rate * 0.5 + this.#random());
      this.#passed += steps;
      this.#goneAhead += steps;
      // Absent visitors come back ahead, and visitors ahead leave.
      if (this.#random() < 0.1) this.#goneAhead -= Math.floor(this.#random() * 3);
      if (this.#random() < 0.3 && this.position > 10) this.#left += 1;
      // The window grows with the rate. Here it never shrinks, so that an entry that is called once stays called.
      this.#window = Math.max(this.#window, Math.floor(this.#rate * 60));
    }
  }

  get position() {
    return Math.max(1, this.#own - this.#passed - this.#left);
  }

  get isCalled() {
    return this.#own <= this.#passed + this.#window;
  }

  get isReady() {
    return this.#own <= this.#passed;
  }

  entry(): EntryAnswer {
    const state = this.isReady ? ("ready" as const) : ("waiting" as const);
    const entry = {
      token: `t${this.#generation}`,
      visit: this.#visit,
      state,
      retry_after_ms: 3_000,
      queue_state: "open" as const,
    };
    if (this.isReady) return entry;
    const range = {
      low: Math.floor((this.position / this.#rate) * 0.8),
      high: Math.ceil((this.position / this.#rate) * 1.2),
    };
    const far = this.isCalled ? {} : { look_after_ms: LOOK_AFTER_MS };
    const waiting = { position: this.position, estimated_wait_seconds: range, place: this.#own * PLACE_STEP, lane: 0 };
    return { ...entry, ...waiting, gone_ahead: this.#goneAhead, ...far };
  }

  document(): PublicDocument {
    const order = { generation: this.#generation, epoch: this.#epoch, now_ms: this.nowMs };
    const intervals = { refresh_near_ms: 3_000, refresh_far_ms: REFRESH_FAR_MS, resync_ms: 20_000 };
    const [passed, called] = [this.#passed * PLACE_STEP, (this.#passed + this.#window) * PLACE_STEP];
    const lane = { check_in_through: called, passed_through: passed, gone_ahead: this.#goneAhead };
    const seconds = 1_000_000 / this.#rate;
    const estimated_waits = this.#isPaused ? [] : [{ position: 1_000_000, low: seconds, high: seconds }];
    return {
      ...order,
      ...intervals,
      rate: this.#rate,
      estimated_waits,
      state: this.#isPaused ? "paused" : "open",
      lanes: { 0: lane },
    };
  }

  // A restore counts from another start. A reset gives another place.
  #restore() {
    this.#epoch += 1;
    this.#goneAhead = Math.floor(this.#random() * 1_000);
    if (this.#random() > 0.1) return;
    this.#generation += 1;
    this.#visit += 1;
    this.#own = this.#passed + this.#window + Math.floor(this.#random() * 5_000);
    this.#left = 0;
  }
}

/** Caches which return documents of different ages. */
class ModelCaches {
  #random: () => number;
  #copies: PublicDocument[] = [];

  constructor(random: () => number) {
    this.#random = random;
  }

  fetch(server: ModelServer): PublicDocument {
    // An edge may keep a copy for 10 s.
    this.#copies = this.#copies.filter((copy) => server.nowMs - copy.now_ms <= 10_000);
    if (this.#copies.length > 0 && this.#random() < 0.5) {
      return this.#copies[Math.floor(this.#random() * this.#copies.length)]!;
    }
    const document = server.document();
    this.#copies.push(document);
    return document;
  }
}

interface Failures {
  documentFailures: number;
  entryFailures: number;
}

// Runs one visitor until the turn. Returns how long the visitor was called before the entry was asked.
function run(seed: number, { documentFailures, entryFailures }: Failures) {
  const random = randomFrom(seed);
  const [server, caches] = [new ModelServer(random), new ModelCaches(random)];
  const follower = new Follower(random);
  const lowest = { visit: 0, position: Infinity };
  let calledAtMs: number | null = null;
  let [nowMs, requests] = [0, 0];
  const moveTo = (untilMs: number) => {
    while (nowMs < untilMs) {
      nowMs = Math.min(untilMs, nowMs + 500);
      server.advanceTo(nowMs);
      if (!server.isCalled) calledAtMs = null;
      else calledAtMs ??= nowMs;
    }
  };
  joinAt(follower, 0);
  for (;;) {
    const { kind, atMs } = follower.nextRequest;
    assert.ok(Number.isFinite(atMs), "a visitor who waits has a next request");
    moveTo(atMs);
    assert.ok(++requests <= 100 + nowMs / 1_000, `${requests} requests in ${nowMs} ms`);
    if (kind !== "document" && server.isCalled) return { waitedMs: nowMs - calledAtMs! };
    moveTo(nowMs + random() * 300);
    if (random() < (kind === "document" ? documentFailures : entryFailures)) {
      receiveFailure(follower, kind, random() < 0.5 ? noAnswer() : unavailable(2_000), nowMs);
    } else if (kind === "document") {
      receiveDocument(follower, caches.fetch(server), nowMs);
    } else {
      receiveEntry(follower, server.entry(), nowMs);
    }
    follower.attendance.changeVisibility(random() < 0.5, nowMs);
    const state = follower.stateAt(nowMs);
    if (state.status !== "waiting" || state.position === null) continue;
    const isSameVisit = lowest.visit === follower.lowest.visit;
    assert.ok(!isSameVisit || state.position <= lowest.position, `${lowest.position} rises to ${state.position}`);
    Object.assign(lowest, { visit: follower.lowest.visit, position: state.position });
    assert.ok(state.position >= 1);
  }
}

function runAll(name: string, failures: Failures, boundMs: number) {
  test(name, () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      try {
        const { waitedMs } = run(seed, failures);
        assert.ok(waitedMs <= boundMs, `the entry was called for ${waitedMs} ms before it was asked`);
      } catch (error) {
        throw new Error(`seed ${seed}: ${error}`);
      }
    }
  });
}

// The longest interval with its jitter, the age of a cached copy, and the delays of the requests.
const REFRESH_BOUND_MS = REFRESH_FAR_MS * 1.15 + 10_000;

runAll("a called entry is asked within a refresh", { documentFailures: 0, entryFailures: 0 }, 2 * REFRESH_BOUND_MS);
runAll(
  "a called entry is asked within some refreshes while requests fail",
  { documentFailures: 0.3, entryFailures: 0.3 },
  6 * REFRESH_BOUND_MS,
);
runAll(
  "a called entry is asked within look_after_ms without documents",
  { documentFailures: 1, entryFailures: 0.3 },
  LOOK_AFTER_MS + 60_000,
);
