// Two accounts in one browser: a place for each, a question before one takes the place of the other, and nothing lost.

import assert from "node:assert/strict";
import { test } from "node:test";

import { memoryStorage } from "../src/storage.js";
import type { Place, PlaceStorage, QueueOptions } from "../src/types.js";
import { nearEntry } from "./samples.js";
import { settle, stateOf, useScene, type FakeAnswer, type FakeRequest } from "./scene.js";

const scene = useScene();

/** What the shop of these tests signs. */
function ticketOf(sub: string, claims: object = {}): string {
  return `e30.${Buffer.from(JSON.stringify({ sub, ...claims })).toString("base64url")}.s`;
}

/** A server whose entries belong to the `sub` of a ticket, or to an anonymous id. */
class Server {
  /** The visits that have ended. */
  ended = new Set<string>();
  /** The accounts whose tickets are refused. */
  refused = new Set<string>();
  #visit = 0;
  #visits = new Map<string, number>();

  answer = ({ method, path, headers, body }: FakeRequest): FakeAnswer => {
    const visitor = headers["X-Visitor-Id"] ?? "";
    const secretOf = visitor.startsWith("vst_") ? visitor.slice(4) : undefined;
    if (method === "POST") {
      const { ticket } = JSON.parse(body as string);
      const named = ticket && JSON.parse(Buffer.from(ticket.split(".")[1], "base64url").toString()).sub;
      if (this.refused.has(named)) return { status: 403, body: { code: "invalid-ticket" } };
      // As the real server does: an anonymous place that lives keeps its visitor, whatever the ticket names.
      const isAnonymous = this.#isLive(visitor);
      const owner = isAnonymous ? visitor : (named ?? secretOf ?? visitor);
      if (!this.#isLive(owner)) this.#visits.set(owner, ++this.#visit);
      this.ended.delete(owner);
      return this.#entry(owner, owner !== visitor);
    }
    const owner = decodeURIComponent(path.split("/")[4]!.split("?")[0]!);
    if (owner !== (secretOf ?? visitor)) return { status: 403, body: { code: "token-owner-mismatch" } };
    if (this.ended.has(owner)) return { status: 410, body: { code: "completed", state: "completed" } };
    return method === "DELETE" ? { status: 204 } : this.#entry(owner, false);
  };

  #isLive(owner: string): boolean {
    return this.#visits.has(owner) && !this.ended.has(owner);
  }

  #entry(owner: string, hasSecret: boolean): FakeAnswer {
    const visit = this.#visits.get(owner)!;
    const secret = hasSecret ? { visitor: `vst_${owner}` } : {};
    return { body: nearEntry({ token: owner, visit, position: visit, retry_after_ms: 1_000, ...secret }) };
  }
}

/** A browser of one visitor, who opens one link after the other. */
class Browser {
  readonly server = new Server();
  readonly storage: PlaceStorage;
  readonly written = new Map<string, string>();
  place!: Place;

  constructor() {
    const storage = memoryStorage();
    const setItem = (key: string, value: string) => void (storage.setItem(key, value), this.written.set(key, value));
    this.storage = { getItem: storage.getItem, setItem };
    scene().answer = this.server.answer;
  }

  /** Opens a link in place of the page before. */
  async open(options: Partial<QueueOptions> = {}): Promise<Place> {
    this.place?.close();
    this.place = scene().join({ storage: this.storage, ...options });
    await this.#untilJoined();
    return this.place;
  }

  // WebCrypto works in another thread, and takes its time.
  async #untilJoined(): Promise<void> {
    do await settle();
    while (this.place.state.status === "joining");
  }

  /** Whose place the page shows, and which other account it offers. */
  get shown(): [owner: string, otherAccount: string] {
    const { token, otherAccount } = stateOf("waiting", this.place);
    return [token, otherAccount];
  }

  /** Goes on as the other account. */
  async change(): Promise<void> {
    this.place.changeAccount();
    await settle();
    await this.#untilJoined();
  }

  /** The requests to enter so far. */
  get entered(): FakeRequest[] {
    return scene().requests.filter(({ method }) => method === "POST");
  }
}

test("the own link after a foreign one asks, and leads to the own place", async () => {
  const browser = new Browser();
  await browser.open({ ticket: ticketOf("foreign") });
  assert.deepEqual(browser.shown, ["foreign", "none"]);
  await browser.open({ ticket: ticketOf("own") });
  assert.deepEqual(browser.shown, ["foreign", "new"]);
  await browser.change();
  assert.deepEqual(browser.shown, ["own", "former"]);
  await browser.open();
  assert.deepEqual(browser.shown, ["own", "former"], "a reload has no ticket any more");
});

test("without an answer a live place stays, and its polls go on", async () => {
  const browser = new Browser();
  await browser.open({ ticket: ticketOf("own") });
  await browser.open({ ticket: ticketOf("foreign") });
  scene().requests = [];
  await scene().pass(5_000);
  assert.deepEqual(browser.shown, ["own", "new"]);
  assert.ok(scene().requests.length >= 4);
  for (const { method, headers } of scene().requests) assert.deepEqual([method, headers["X-Visitor-Id"]], ["GET", "vst_own"]);
  await browser.open();
  assert.deepEqual(browser.shown, ["own", "none"]);
});

test("a place that the visitor keeps is not asked about again in its visit", async () => {
  const browser = new Browser();
  await browser.open({ ticket: ticketOf("own") });
  await browser.open({ ticket: ticketOf("foreign") });
  browser.place.keepAccount();
  assert.deepEqual(browser.shown, ["own", "kept"]);
  await browser.open({ ticket: ticketOf("another") });
  assert.deepEqual(browser.shown, ["own", "kept"]);

  browser.server.ended.add("own");
  await browser.open({ ticket: ticketOf("own") });
  await browser.open({ ticket: ticketOf("foreign") });
  assert.deepEqual(browser.shown, ["own", "new"], "the next visit asks");
});

test("both places are kept, with secret and position, whichever is followed", async () => {
  const browser = new Browser();
  await browser.open({ ticket: ticketOf("ada") });
  await browser.open({ ticket: ticketOf("bob") });
  await browser.change();
  await browser.change();
  assert.deepEqual(browser.shown, ["ada", "kept"]);
  await browser.change();
  assert.deepEqual(browser.shown, ["bob", "former"]);
  await browser.open();
  await browser.change();
  assert.deepEqual(browser.shown, ["ada", "former"]);
  assert.equal(browser.entered.length, 2, "each account has entered once");
  assert.deepEqual([...browser.server.ended], []);
});

test("a ticket counts without a question if no place is live", async () => {
  const browser = new Browser();
  await browser.open({ ticket: ticketOf("foreign") });
  browser.server.ended.add("foreign");
  await browser.open({ ticket: ticketOf("own") });
  assert.deepEqual(browser.shown, ["own", "none"]);
});

test("ten links with a random sub keep the place", async () => {
  const browser = new Browser();
  await browser.open({ ticket: ticketOf("captcha:0") });
  for (let n = 1; n <= 10; n++) {
    await browser.open({ ticket: ticketOf(`captcha:${n}`) });
    assert.equal(browser.shown[0], "captcha:0");
  }
  assert.equal(browser.entered.length, 1);
});

test("an anonymous place stays without a question", async () => {
  const browser = new Browser();
  await browser.open();
  const [anonymous] = browser.shown;
  await browser.open({ ticket: ticketOf("own") });
  assert.deepEqual(browser.shown, [anonymous, "none"]);
  browser.server.ended.add(anonymous);
  await scene().pass(2_000);
  await browser.open({ ticket: ticketOf("own") });
  assert.deepEqual(browser.shown, ["own", "none"]);
});

test("a test visitor beside an anonymous place is asked, and enters as the tester", async () => {
  const browser = new Browser();
  await browser.open();
  const [anonymous] = browser.shown;
  await browser.open({ ticket: ticketOf("tester", { bypass: true }) });
  assert.deepEqual(browser.shown, [anonymous, "new"]);
  await browser.change();
  assert.deepEqual(browser.shown, ["tester", "former"]);
  assert.notEqual(browser.entered.at(-1)!.headers["X-Visitor-Id"], anonymous, "the anonymous place is not shown");
  await browser.change();
  assert.deepEqual(browser.shown[0], anonymous);
});

test("a login has its headers for its own place, and others for the former one", async () => {
  const browser = new Browser();
  const log = (account: string) => ({
    account,
    headers: (isOther: boolean) => ({ Authorization: isOther ? "former" : account, "X-Visitor-Id": `vst_${isOther ? "ada" : account}` }),
  });
  await browser.open(log("ada"));
  assert.deepEqual(browser.shown, ["ada", "none"]);
  scene().requests = [];
  await browser.open(log("bob"));
  assert.deepEqual(browser.shown, ["ada", "new"]);
  await browser.change();
  assert.deepEqual(browser.shown, ["bob", "former"]);
  assert.deepEqual(
    scene().requests.map(({ headers }) => headers["Authorization"]),
    ["former", "bob"],
  );
});

test("a ticket that is refused costs the former place nothing", async () => {
  const browser = new Browser();
  await browser.open({ ticket: ticketOf("own") });
  browser.server.refused.add("forged");
  await browser.open({ ticket: ticketOf("forged") });
  await browser.change();
  assert.equal(stateOf("failed", browser.place).problem.code, "invalid-ticket");
  await browser.open();
  assert.deepEqual(browser.shown, ["own", "none"]);
});

test("an answer of the former place does not reach the new one", async () => {
  const browser = new Browser();
  await browser.open({ ticket: ticketOf("ada") });
  await browser.open({ ticket: ticketOf("bob") });
  let release = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  scene().answer = async (request) => {
    if (request.method === "DELETE") await gate;
    return browser.server.answer(request);
  };
  const left = browser.place.leave();
  await browser.change();
  release();
  await left;
  await settle();
  assert.deepEqual(browser.shown, ["bob", "former"]);
});

test("after the end of a visit, the other account is the next one", async () => {
  const browser = new Browser();
  await browser.open({ ticket: ticketOf("ada") });
  await browser.open({ ticket: ticketOf("bob") });
  await browser.change();
  await browser.place.leave();
  assert.deepEqual([browser.place.state.status, browser.place.state.otherAccount], ["left", "former"]);
  browser.place.changeAccount();
  await browser.open();
  assert.equal(browser.shown[0], "ada");
});

for (const hasCrypto of [true, false]) {
  test(`accounts are kept apart ${hasCrypto ? "by a hash" : "without WebCrypto"}`, async () => {
    const { crypto } = globalThis;
    if (!hasCrypto) Object.defineProperty(globalThis, "crypto", { value: { randomUUID: () => crypto.randomUUID() }, configurable: true });
    try {
      const browser = new Browser();
      await browser.open({ ticket: ticketOf("ada@김.example") });
      await browser.open({ ticket: ticketOf("bob@shop.example") });
      assert.equal(browser.shown[1], "new");
      const keys = [...browser.written.keys()].filter((key) => !key.endsWith(":visitor")).join("\n");
      assert.equal(keys.includes("ada"), !hasCrypto, keys);
    } finally {
      Object.defineProperty(globalThis, "crypto", { value: crypto, configurable: true });
    }
  });
}

for (const ticket of ["", "a.b.c", "a.bnVsbA.c", ticketOf("")]) {
  test(`a ticket that names nobody, ${JSON.stringify(ticket)}, is of no account`, async () => {
    const browser = new Browser();
    scene().answer = () => ({ body: nearEntry() });
    await browser.open({ ticket });
    await browser.open({ ticket: `${ticket}.` });
    assert.equal(browser.shown[1], "none");
  });
}
