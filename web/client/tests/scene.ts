// A visitor's surroundings for the tests: a clock, a server whose answers the test sets, and tabs with a presence.

import { afterEach, beforeEach, mock } from "node:test";
import assert from "node:assert/strict";

import { joinQueue } from "../src/place.js";
import type { Place, PlaceState, Presence, PresenceEvent, QueueOptions } from "../src/types.js";
import { publicDocument } from "./samples.js";

export interface FakeRequest extends RequestInit {
  readonly method: string;
  /** The path with the query. */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly isBare: boolean;
}

/** `body` is JSON, or a text that is none. */
export interface FakeAnswer {
  readonly status?: number;
  readonly body?: object | string;
  readonly headers?: Record<string, string>;
}

/** What a visitor does on a page. */
export class FakePresence implements Presence {
  #isVisible = true;
  #isOnline = true;
  #notify = new Set<(event: PresenceEvent) => void>();

  isVisible = () => this.#isVisible;
  isOnline = () => this.#isOnline;

  subscribe(notify: (event: PresenceEvent) => void): () => void {
    this.#notify.add(notify);
    return () => this.#notify.delete(notify);
  }

  show(isVisible: boolean): void {
    this.#isVisible = isVisible;
    this.#notify.forEach((notify) => notify("visibility"));
  }

  connect(isOnline: boolean): void {
    this.#isOnline = isOnline;
    this.#notify.forEach((notify) => notify("network"));
  }

  input(): void {
    this.#notify.forEach((notify) => notify("input"));
  }

  get listeners(): number {
    return this.#notify.size;
  }
}

/** One test. */
export class Scene {
  nowMs = 1_000;
  random = 0.5;
  requests: FakeRequest[] = [];
  answer: (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer> = () => ({ status: 503, body: {} });
  places: Place[] = [];
  /** What the console was told. */
  warnings: unknown[][] = [];

  /** Joins a queue. */
  join(options: Partial<QueueOptions> = {}): Place {
    const runtime = { now: () => this.nowMs, random: () => this.random };
    const place = joinQueue({ queue: "q", base: "https://api.example", fetch: this.fetch, ...options }, runtime);
    this.places.push(place);
    return place;
  }

  /** Joins a queue whose server answers with these. */
  async joinWith(
    entry: object,
    options: Partial<QueueOptions> = {},
    document: object = publicDocument(),
  ): Promise<Place> {
    this.answer = ({ path }) => ({ body: path.includes("/entries") ? entry : document });
    const place = this.join(options);
    await this.pass(0);
    return place;
  }

  fetch: typeof globalThis.fetch = async (url, init = {}) => {
    const { method = "GET", headers } = init;
    const path = String(url).replace("https://api.example", "");
    const request = { ...init, method, path, headers: { ...headers } as Record<string, string>, isBare: !headers };
    this.requests.push(request);
    const { status = 200, body = {}, headers: answerHeaders = {} } = await this.answer(request);
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return new Response(status === 204 ? null : text, { status, headers: answerHeaders });
  };

  /** Lets time pass, in steps. */
  async pass(ms: number, stepMs = 250): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= stepMs) {
      const step = Math.min(leftMs, stepMs);
      this.nowMs += step;
      mock.timers.tick(step);
      await settle();
    }
    await settle();
  }

  /** The requests so far, as `GET /path`. */
  get paths(): string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`);
  }
}

/** Lets promises settle. */
export async function settle(): Promise<void> {
  for (let n = 0; n < 30; n++) await new Promise((done) => setImmediate(done));
}

/** Starts each test of a file with a new scene. No test may leave a rejection that no code handles. */
export function useScene(): () => Scene {
  let scene = new Scene();
  const rejections: unknown[] = [];
  process.on("unhandledRejection", (reason) => rejections.push(reason));
  beforeEach(() => {
    mock.timers.reset();
    mock.timers.enable({ apis: ["setTimeout"] });
    scene = new Scene();
    const { warnings } = scene;
    console.warn = (...words) => warnings.push(words);
  });
  afterEach(async () => {
    scene.places.forEach((place) => place.close());
    await settle();
    assert.deepEqual(rejections.splice(0), []);
  });
  return () => scene;
}

/** The state, which must have this status. */
export function stateOf<S extends PlaceState["status"]>(status: S, place: Place): Extract<PlaceState, { status: S }> {
  assert.equal(place.state.status, status);
  return place.state as Extract<PlaceState, { status: S }>;
}
