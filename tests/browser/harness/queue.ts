// One queue of a test: what operators, the protected service and other visitors do with it, by plain requests.

import { expect } from "@playwright/test";

/** A JSON object of the API. */
export type Json = Record<string, any>;

/** A visitor without a browser. */
export interface OtherVisitor {
  readonly visitor: string;
  readonly token: string;
  readonly entry: Json;
}

/** Settings with which the next visitor is promoted as soon as the active one completes. */
export const ONE_AT_A_TIME = {
  capacity: 1,
  batch: 10,
  interval_seconds: 1,
  claim_seconds: 60,
  session_seconds: 3_600,
};

/** Settings with which one visitor is active and no other is promoted. */
export const FULL = { capacity: 1, batch: 1, interval_seconds: 3_600, claim_seconds: 10, session_seconds: 3_600 };

/** Settings with which two entries may be promoted in this hour: the active one, and another one once. */
export const TWO_TURNS = { ...FULL, batch: 2 };

/** A queue of its own for one test. */
export class TestQueue {
  readonly id: string;
  readonly #runner: string;
  #active: OtherVisitor | undefined;

  constructor(runner: string, id: string) {
    this.#runner = runner;
    this.id = id;
  }

  /** Creates the queue with these settings and one active visitor, who may need a ticket. */
  async open(settings: Json, ticket?: string): Promise<void> {
    await this.run("create", { settings });
    this.#active = await this.enter(undefined, ticket);
    expect(this.#active.entry["state"]).toBe("active");
  }

  /** Completes the visitor who is active from the beginning. */
  async completeActive(): Promise<void> {
    await this.complete(this.#active!.token);
  }

  /** Completes a visit as the protected service. */
  async complete(token: string): Promise<void> {
    await this.#callAsService(token, "complete", {});
  }

  /** Runs a command of an operator. */
  async run(op: string, fields: Json = {}): Promise<Json> {
    const body = { op, queue: this.id, ...fields };
    const answer = await this.#send("POST", `${this.#runner}/_admin`, body);
    expect(answer["ok"], JSON.stringify({ body, answer })).toBe(true);
    return answer["result"];
  }

  /** Changes settings as an operator. */
  async update(settings: Json): Promise<void> {
    await this.run("update", { settings });
  }

  /** Sets the address of the shop, and waits until the active visitor is told it: a process learns settings within seconds. */
  async setTarget(target_url: string): Promise<void> {
    await this.update({ target_url });
    await expect.poll(async () => (await this.checkIn(this.#active!))["target_url"]).toBe(target_url);
  }

  /** Enters as another visitor. */
  async enter(visitor: string = crypto.randomUUID(), ticket?: string): Promise<OtherVisitor> {
    const entry = await this.#send("POST", `${this.#address}/entries`, { ticket }, visitor);
    return { visitor, token: entry["token"], entry };
  }

  /** Polls as another visitor, which is the check-in that entering is not. */
  async checkIn({ visitor, token }: OtherVisitor): Promise<Json> {
    return this.#send("GET", `${this.#address}/entries/${token}`, undefined, visitor);
  }

  /** Leaves as another visitor. */
  async leave({ visitor, token }: OtherVisitor): Promise<void> {
    await this.#send("DELETE", `${this.#address}/entries/${token}`, undefined, visitor);
  }

  /** Reads the status of an entry, or the problem that answers for it. */
  async readStatus(token: string): Promise<Json> {
    return this.#send("GET", `${this.#address}/entries/${token}`);
  }

  /** Waits until an entry has a state, or its visit has ended with it. */
  async untilState(token: string, state: string): Promise<void> {
    await expect.poll(async () => (await this.readStatus(token))["state"]).toBe(state);
  }

  /** Validates a pass as the protected service, which may compare its owner with a visitor. */
  async validate(token: string, pass: string, visitor?: string): Promise<Json> {
    return this.#callAsService(token, "validate", { pass, visitor });
  }

  #callAsService(token: string, verb: string, body: Json): Promise<Json> {
    return this.#send("POST", `${this.#address}/entries/${token}/${verb}`, body);
  }

  get #address(): string {
    return `${this.#runner}/queues/${this.id}`;
  }

  // A busy machine may answer 503, and each client then asks again.
  async #send(method: string, url: string, body?: Json, visitor?: string): Promise<Json> {
    const headers: Record<string, string> = { "Content-Type": "application/json" };
    if (visitor) headers["X-Visitor-Id"] = visitor;
    let answer: Json = {};
    await expect(async () => {
      const response = await fetch(url, { method, headers, body: body ? JSON.stringify(body) : null });
      expect(response.status).not.toBe(503);
      answer = response.status === 204 ? {} : ((await response.json()) as Json);
    }).toPass();
    return answer;
  }
}
