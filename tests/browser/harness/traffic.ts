// The requests of a browser to the API of one queue: recorded, and if a test wants it with other answers.

import { performance } from "node:perf_hooks";

import { expect, type BrowserContext, type Page, type Request, type Route } from "@playwright/test";

import { BOUND_MS } from "./chromium.js";
import type { Json } from "./queue.js";

// The longest time to the next poll while the polls are shortened.
const SHORT_RETRY_MS_MAX = 500;

/** A request and its answer. The times are readings of `performance.now()` of this process. */
export interface Call {
  /** The tab that sent it. */
  readonly page: Page;
  readonly method: string;
  readonly path: string;
  readonly receivedAtMs: number;
  answeredAtMs: number;
  status: number;
  /** An answer that is not JSON is a text. */
  body: Json | string;
  headers: Record<string, string>;
}

/** What a call is for. */
export type CallKind = "enter" | "status" | "claim" | "leave" | "document" | "other";

/** Returns what a call is for. */
export function kindOf({ method, path }: Pick<Call, "method" | "path">): CallKind {
  if (method === "POST" && path.endsWith("/entries")) return "enter";
  if (method === "POST" && path.endsWith("/claim")) return "claim";
  if (method === "GET" && path.includes("/entries/")) return "status";
  if (method === "DELETE") return "leave";
  return method === "GET" ? "document" : "other";
}

/** The body of a call as an object. */
export function bodyOf({ body }: Call): Json {
  return typeof body === "string" ? {} : body;
}

/** Changes an answer before the browser gets it. */
export type ChangeAnswer = (call: Call) => void;

/**
 * The answered requests of all pages of a context to one queue, in the order of the answers.
 *
 * The browser tells of an answer after the page has got it, so a test that looks at once may look too early. `record` and
 * `change` let the answers pass through this process, which records each before the page can see it. Tests of what
 * Playwright does not pass on, such as requests of a page that closes, wait for a call with `until` or `untilMore`.
 */
export class Traffic {
  readonly #calls: Call[] = [];
  readonly #context: BrowserContext;
  readonly #path: string;
  #isRouted = false;
  #changes: ChangeAnswer[] = [];

  constructor(context: BrowserContext, queue: string) {
    this.#context = context;
    this.#path = `/queues/${queue}`;
    context.on("requestfinished", this.#record);
  }

  /** Stops recording. */
  close(): void {
    this.#context.off("requestfinished", this.#record);
  }

  /** The calls whose answers a page may have seen. */
  get calls(): readonly Call[] {
    if (!this.#isRouted) throw new Error("a page may have seen more answers: record the traffic first, or wait for a call");
    return this.#calls;
  }

  /** The calls of one kind. */
  ofKind(kind: CallKind): Call[] {
    return this.calls.filter((call) => kindOf(call) === kind);
  }

  /** The token that the first answer to entering had. */
  get token(): string {
    return bodyOf(this.ofKind("enter")[0]!)["token"];
  }

  /** Waits until a call matches. Returns all calls up to then, in the order of their answers. */
  async until(matches: (call: Call) => boolean): Promise<readonly Call[]> {
    await expect.poll(() => this.#calls.some(matches)).toBe(true);
    return this.#calls;
  }

  /** Waits until so many more calls of a kind were answered. Returns them. */
  async untilMore(count: number, kind: CallKind): Promise<Call[]> {
    const ofKind = () => this.#calls.filter((call) => kindOf(call) === kind);
    const skipped = ofKind().length;
    await expect.poll(() => ofKind().length).toBeGreaterThanOrEqual(skipped + count);
    return ofKind().slice(skipped);
  }

  /** Waits until so many more calls of a kind were answered with a field of this value. */
  async untilAnswered(count: number, kind: CallKind, field: string, value: unknown): Promise<void> {
    const skipped = this.#calls.length;
    const matching = (): number =>
      this.#calls.slice(skipped).filter((call) => kindOf(call) === kind && bodyOf(call)[field] === value).length;
    const text = `${kind} answered with ${field} ${String(value)}`;
    await expect.poll(matching, { message: text, timeout: BOUND_MS }).toBeGreaterThanOrEqual(count);
  }

  /** Changes every answer from now on, and records it. */
  async change(change: ChangeAnswer): Promise<void> {
    this.#changes.push(change);
    await this.record();
  }

  /** Records every call from now on before a page sees its answer. Preflights are then answered by Playwright. */
  async record(): Promise<void> {
    if (this.#isRouted) return;
    this.#isRouted = true;
    await this.#context.route(
      (url) => this.#isOfQueue(url),
      // The server may be down, and the page may be closed by now.
      (route) => this.#answer(route).catch(() => route.abort("connectionfailed").catch(() => {})),
    );
  }

  /** Sets the time to the next poll to ten minutes, for tests in which something else must cause a request. */
  stretchPolls(): Promise<void> {
    return this.change(({ body }) => {
      if (typeof body !== "string" && body["retry_after_ms"]) body["retry_after_ms"] = 600_000;
    });
  }

  /** Shortens the time to the next poll, for tests that are not about it. */
  shortenPolls(): Promise<void> {
    return this.change(({ body }) => {
      if (typeof body === "string" || !body["retry_after_ms"]) return;
      body["retry_after_ms"] = Math.min(body["retry_after_ms"], SHORT_RETRY_MS_MAX);
    });
  }

  #isOfQueue({ pathname }: URL): boolean {
    return `${decodeURIComponent(pathname)}/`.startsWith(`${this.#path}/`);
  }

  async #answer(route: Route): Promise<void> {
    const request = route.request();
    const call = startCall(request);
    const response = await route.fetch();
    const text = await response.text();
    call.status = response.status();
    call.body = parse(text);
    call.headers = response.headers();
    for (const change of this.#changes) change(call);
    call.answeredAtMs = performance.now();
    this.#calls.push(call);
    const body = typeof call.body === "string" ? call.body : JSON.stringify(call.body);
    await route.fulfill({ status: call.status, headers: call.headers, body });
  }

  readonly #record = async (request: Request): Promise<void> => {
    if (this.#isRouted || !this.#isOfQueue(new URL(request.url()))) return;
    const call = startCall(request);
    const response = await request.response();
    if (!response) return;
    call.status = response.status();
    // A page that was closed has no bodies.
    call.body = parse(await response.text().catch(() => ""));
    call.headers = response.headers();
    this.#calls.push(call);
  };
}

function startCall(request: Request): Call {
  const { pathname, search } = new URL(request.url());
  const nowMs = performance.now();
  return {
    page: request.frame().page(),
    method: request.method(),
    path: kindOf({ method: request.method(), path: pathname }) === "status" ? pathname + search : pathname,
    receivedAtMs: nowMs,
    answeredAtMs: nowMs,
    status: 0,
    body: "",
    headers: {},
  };
}

function parse(text: string): Json | string {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
