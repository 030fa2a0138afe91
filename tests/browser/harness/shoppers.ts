// The visitors of a sale: clients of the library, each from a source of its own choice, and an attack by plain requests.
//
// The runner knows a visitor's source by the address of the connection. On Linux every address that begins with 127 is
// this machine, so a client chooses its source by the address from which it connects.

import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { loadLibrary } from "./crowd.js";
import type { Json } from "./queue.js";
import type { Place } from "../../../web/client/src/types.js";

// A visitor buys for so long.
const VISIT_MS_MIN = 500;
const VISIT_MS_MAX = 2_000;
const RETRY_MS = 250;
const AT_ONCE = 20;

/** A `fetch` that connects from this loopback address. */
export function fetchFrom(localAddress: string): typeof fetch {
  const agent = new Agent({ keepAlive: true, localAddress });
  return (address, { method = "GET", headers, body, signal } = {}) =>
    new Promise((resolve, reject) => {
      const options = { agent, method, headers: Object.fromEntries(new Headers(headers)), ...(signal ? { signal } : {}) };
      const call = request(String(address), options, (answer) => {
        const parts: Buffer[] = [];
        answer.on("data", (part: Buffer) => parts.push(part));
        answer.on("error", reject);
        answer.on("end", () => {
          const status = answer.statusCode!;
          const fields = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]);
          resolve(new Response(status === 204 ? null : Buffer.concat(parts), { status, headers: fields }));
        });
      });
      call.on("error", reject);
      call.end(body as string | undefined);
    });
}

/** One client of the library, and what the server told it. */
export class Shopper {
  /** The tokens and places in line that the server told this visitor: one of each, unless the visitor lost a place. */
  readonly tokens = new Set<string>();
  readonly ranks = new Set<number>();
  /** When the visitor had first asked for the place while the turn was near, in Unix milliseconds: from then on it is present. */
  presentAtMs: number | undefined;
  /** When the visitor was promoted, in Unix milliseconds. */
  promotedAtMs: number | undefined;
  wasLetIn = false;
  hasBought = false;
  #isClosed = false;
  #place: Place | undefined;
  #look: (() => Promise<unknown>) | undefined;

  /** What the visitor sees. */
  get status(): Place["state"]["status"] {
    return this.#place?.state.status ?? "joining";
  }

  /** Enters a queue, waits there, and buys when the turn has come. Returns when the visitor is in line. */
  async join(base: string, queue: string, source: typeof fetch): Promise<void> {
    const { joinQueue, memoryStorage } = await loadLibrary();
    const entries = `${base}/queues/${encodeURIComponent(queue)}/entries`;
    const listen = this.#listen(source);
    const place = joinQueue({ queue, base, fetch: listen, storage: memoryStorage(), presence: "always" });
    this.#place = place;
    this.#look = () => listen(`${entries}/${[...this.tokens][0]}`);
    place.subscribe(({ status }) => {
      if (status !== "active" || this.wasLetIn) return;
      this.wasLetIn = true;
      void this.#buy(entries);
    });
    for await (const { status } of place) if (status !== "joining") return;
  }

  /** Asks for the entry, beside the client. */
  async look(): Promise<void> {
    await this.#look?.();
  }

  /** Ends the client. */
  close(): void {
    this.#isClosed = true;
    this.#place?.close();
  }

  // The protected service completes the visit.
  async #buy(entries: string): Promise<void> {
    await sleep(VISIT_MS_MIN + Math.random() * (VISIT_MS_MAX - VISIT_MS_MIN));
    const [token] = this.tokens;
    const body = { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" };
    while (!this.hasBought && !this.#isClosed) {
      const answer = await fetch(`${entries}/${token}/complete`, body).catch(() => undefined);
      if (answer?.ok) this.hasBought = true;
      // During an outage the service tries again.
      else await sleep(RETRY_MS);
    }
    this.close();
  }

  #listen(source: typeof fetch): typeof fetch {
    return async (address, init) => {
      const answer = await source(address, init);
      if (!answer.ok || !String(address).includes("/entries")) return answer;
      const text = await answer.text();
      const { token, place, state, degraded, look_after_ms: lookAfterMs, promoted_at_ms: promotedAtMs } = (text ? JSON.parse(text) : {}) as Json;
      if (token) this.tokens.add(token);
      if (place !== undefined) this.ranks.add(place);
      // An answer to a visitor whose turn is not near says when to ask again at the latest. To enter is not to be present.
      const isCalled = state === "waiting" && !degraded && lookAfterMs === undefined && init?.method !== "POST";
      if (isCalled) this.presentAtMs ??= Date.now();
      if (promotedAtMs) this.promotedAtMs ??= promotedAtMs;
      return new Response(text || null, { status: answer.status, headers: answer.headers });
    };
  }
}

/** All honest visitors of a sale. */
export class Shoppers {
  readonly all: Shopper[] = [];
  readonly #sources: (typeof fetch)[];

  constructor(
    private readonly base: string,
    private readonly queue: string,
    sources: number,
  ) {
    this.#sources = Array.from({ length: sources }, (_, n) => fetchFrom(`127.1.0.${n + 1}`));
  }

  /** So many more visitors enter, one after another within a time, from all sources in turn. */
  async join(count: number, withinMs: number): Promise<Shopper[]> {
    const joining = Array.from({ length: count }, async (_, n) => {
      await sleep((n / count) * withinMs);
      const shopper = new Shopper();
      this.all.push(shopper);
      await shopper.join(this.base, this.queue, this.#sources[n % this.#sources.length]!);
      return shopper;
    });
    return Promise.all(joining);
  }

  /** How many visitors match. */
  count(matches: (shopper: Shopper) => boolean): number {
    return this.all.filter(matches).length;
  }

  /** Ends all clients. */
  close(): void {
    for (const shopper of this.all) shopper.close();
  }
}

/** An attacker who takes many places from one source, and never asks for them again. */
export class Attacker {
  readonly tokens: string[] = [];
  readonly #entries: string;
  readonly #fetch = fetchFrom("127.66.0.1");

  constructor(base: string, queue: string) {
    this.#entries = `${base}/queues/${encodeURIComponent(queue)}/entries`;
  }

  /** Enters so many times. Returns how many entries the server refused, by the code of the problem. */
  async enter(count: number): Promise<Record<string, number>> {
    const refused: Record<string, number> = {};
    await this.#repeat(count, async () => {
      const headers = { "Content-Type": "application/json", "X-Visitor-Id": crypto.randomUUID() };
      const answer = await this.#fetch(this.#entries, { method: "POST", headers, body: "{}" });
      const { token, code } = (await answer.json()) as Json;
      if (answer.ok) this.tokens.push(token);
      else refused[code] = (refused[code] ?? 0) + 1;
    });
    return refused;
  }

  /** How many of the entries have ended with this code. */
  async countEnded(code: string): Promise<number> {
    let ended = 0;
    await this.#repeat(this.tokens.length, async (n) => {
      const answer = (await (await this.#fetch(`${this.#entries}/${this.tokens[n]}`)).json()) as Json;
      if (answer["code"] === code) ended++;
    });
    return ended;
  }

  async #repeat(count: number, act: (n: number) => Promise<void>): Promise<void> {
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < count) await act(next++);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }
}
