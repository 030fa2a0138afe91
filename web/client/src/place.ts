// The shell around the follower: it sends the requests, and has the timer, the clock, the storage and the other tabs.

import { Accounts } from "./accounts.js";
import { createSend, type Send } from "./api.js";
import { TIMER_MS_MAX } from "./bounds.js";
import { drawnOrder } from "./draw.js";
import { isBeforeOpening } from "./entry.js";
import { Follower } from "./follower.js";
import { ALWAYS_PRESENT, BROWSER_PRESENCE } from "./presence.js";
import { END_CODES, ProblemError } from "./problem.js";
import type { Answer, FollowerRequest } from "./request.js";
import { NO_PLACE, PlaceRecords, drawVisitor } from "./storage.js";
import { Tabs, runAlone, type TabMessage } from "./tabs.js";
import type { ActiveState, Place, PlaceState, Presence, PresenceEvent, QueueOptions, Runtime, WhenClosed } from "./types.js";

// A leader whose request is so late, in milliseconds, is frozen: the timeout of a request has passed.
const LATE_MS = 12_000;

const RUNTIME: Runtime = { now: () => performance.now(), random: Math.random };

/** The place of a visitor, followed until the visit ends or the place is closed. */
class FollowedPlace implements Place {
  declare state: PlaceState;
  #now: () => number;
  #send: Send;
  #follower: Follower;
  #accounts = new Accounts();
  #records: PlaceRecords;
  #presence: Presence;
  #tabs: Tabs | undefined;
  #whenClosed: WhenClosed | undefined;
  // Ends what follows the closing of the page, while this tab leads.
  #endClosing: (() => void) | undefined;
  #name: string;
  #visitor = "";
  #listeners = new Set<(state: PlaceState) => void>();
  #isEnded = false;
  #endPresence: () => void;
  #signal: AbortSignal | undefined;
  // The request in flight, if it may be dropped and sent again, because it only reads.
  #read: AbortController | undefined;
  // Ends the pause before the next request.
  #resume = () => {};

  constructor(options: QueueOptions, { now, random }: Runtime) {
    const { queue, confirm, returnTo, spread, signal, storage, presence } = options;
    const isAlways = presence ? presence === "always" : !globalThis.document;
    const base = (options.base ?? "").replace(/\/+$/, "");
    // Each request would fail, as if the network did.
    if (!/^$|^\/|:\/\//.test(base)) throw new TypeError(`base is neither address nor path: ${base}`);
    this.#now = now;
    this.#whenClosed = options.whenClosed;
    this.#name = `${base}/queues/${queue}`;
    this.#send = createSend(options, base, () => !!this.#accounts.followed && this.#accounts.isOther);
    this.#follower = new Follower(random, confirm !== "manual", returnTo, spread);
    this.#records = new PlaceRecords(storage, this.#name);
    this.#presence = typeof presence === "object" ? presence : isAlways ? ALWAYS_PRESENT : BROWSER_PRESENCE;
    if (isAlways) this.#follower.attendance.addInput(Infinity);
    this.state = this.#stateNow();
    this.#signal = signal;
    signal?.addEventListener("abort", this.close);
    this.#endPresence = this.#presence.subscribe((event) => this.#takePresence(event));
    if (signal?.aborted) this.close();
    else void this.#follow(options);
  }

  subscribe = (listener: (state: PlaceState) => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  async *[Symbol.asyncIterator](): AsyncGenerator<PlaceState, void> {
    for (;;) {
      const { state } = this;
      yield state;
      if (state !== this.state) continue;
      if (this.#isEnded) return;
      await new Promise<void>((resolve) => {
        const end = this.subscribe(() => resolve(end()));
      });
    }
  }

  claim = (): Promise<ActiveState> => handle(this.#claim());
  leave = (): Promise<void> => handle(this.#leave());
  extend = (seconds?: number): Promise<void> => handle(this.#extend(seconds));
  keepAccount = (): void => {
    this.#accounts.isChosen = true;
    this.#publish();
  };
  changeAccount = (): void => {
    if (!this.#accounts.changeFollowed()) return;
    // A visit that has ended is followed no more. To join again continues with the other account.
    if (this.#isEnded) this.#records.writeAccounts(this.#accounts.toText());
    this.#dropRead();
    this.#resume();
  };
  close = (): void => {
    if (!this.#follower.isOver) this.#follower.close();
    this.#publish();
  };

  async #claim(): Promise<ActiveState> {
    this.#follower.attendance.isConfirmed = true;
    this.#changeRequest();
    for await (const state of this) {
      if (state.status === "active") return state;
      if (state.status !== "ready") break;
    }
    const refusal = { status: 0, body: { code: "not-your-turn", title: "It is not your turn" } };
    throw (this.#follower.isOver && this.state.problem) || new ProblemError(refusal);
  }

  async #leave(): Promise<void> {
    const answer = this.#follower.token ? await this.#ask({ kind: "leave" }) : { isOk: true, status: 204, body: {} };
    const problem = new ProblemError(answer);
    if (!answer.isOk && !END_CODES.includes(problem.code)) throw problem;
    this.#share({ ...answer, kind: "leave", isOk: true });
  }

  async #extend(seconds?: number): Promise<void> {
    const body = { visit: this.#follower.entry?.visit, seconds };
    const answer = await this.#ask({ kind: "extend" }, undefined, body);
    if (!answer.isOk) throw new ProblemError(answer);
    this.#share(answer);
  }

  async #follow({ account, ticket }: QueueOptions): Promise<void> {
    const id = await runAlone("vestibule:visitor", () => this.#records.readVisitor());
    await this.#accounts.readAccounts(this.#records, account, ticket, this.#name);
    while (!this.#isEnded) await this.#followAccount(id);
  }

  // Follows the place of an account, until the visit ends or the visitor goes on as another account.
  async #followAccount(id: string): Promise<void> {
    const { followed, isChosen } = this.#accounts;
    this.#records.selectAccount(followed);
    this.#follower.forgetEntry();
    // With the id of an anonymous place, a ticket would name the visitor of that place, who is another one.
    const ownId = isChosen && followed ? drawVisitor() : id;
    const [secret] = await Promise.all([this.#records.readSecret(), this.#join()]);
    this.#visitor = secret || ownId;
    if (this.#isEnded) return;
    const tabs = (this.#tabs = new Tabs(
      `vestibule:${id}:${this.#name}${followed && `@${followed}`}`,
      () => this.#join(),
      () => this.#changeLeader(),
      (message) => this.#receive(message),
    ));
    while (!this.#isEnded && followed === this.#accounts.followed) await this.#step(tabs);
    tabs.close();
    this.#endClosing?.();
  }

  // Without locks, which tell whether another tab is open, the closing of this one means nothing.
  #changeLeader(): void {
    this.#endClosing?.();
    const ask = async (kind: "status" | "close") => {
      if (!this.#follower.entry?.leave_on_close) return;
      const answer = await this.#ask({ kind });
      if (kind === "status") this.#share(answer);
    };
    this.#endClosing = this.#tabs?.isLeader ? this.#whenClosed?.({ hadPlace: !!this.#follower.token, ask }) : undefined;
    this.#resume();
  }

  // Continues with the stored place. Another tab may have stored it since this one was opened.
  async #join(): Promise<void> {
    const place = await this.#records.readPlace();
    if (this.#follower.entry || this.#isEnded) return;
    this.#follower.join(place, this.#now());
    this.#takePresence("visibility");
  }

  // Sends the next request, or waits for its time.
  async #step(tabs: Tabs): Promise<void> {
    const request = this.#follower.nextRequest;
    const { kind, atMs, holdSeconds = 0 } = request;
    const isChange = kind === "enter" && this.#accounts.isOther;
    // The tab that the visitor attends to claims the turn.
    const isOwn = tabs.isLeader || kind === "claim" || isChange;
    const pauseMs = atMs - this.#now() + (isOwn ? 0 : holdSeconds * 1_000 + LATE_MS);
    if (pauseMs > 0) return this.#pause(pauseMs);
    if (isChange) {
      this.#records.writePlace(NO_PLACE);
      return this.#accounts.followLinked();
    }
    if (isOwn) {
      const execution = this.#execute(request);
      return kind === "document" && !this.#follower.entry ? this.#follower.askSpread(this.#now()) : execution;
    }
    tabs.lead(true);
    return this.#pause(LATE_MS);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.min(ms, TIMER_MS_MAX));
      this.#resume = () => resolve(clearTimeout(timer));
    });
  }

  async #execute(request: FollowerRequest): Promise<void> {
    const { kind } = request;
    const controller = new AbortController();
    const isRead = kind === "document" || kind === "status";
    if (isRead) this.#read = controller;
    let answer = await this.#ask(request, controller);
    const { draw_seed: seed } = answer.body as { draw_seed?: string };
    if (seed && isBeforeOpening(this.#follower.entry)) {
      const drawn = await drawnOrder(seed, this.#follower.token);
      answer = { ...answer, body: { ...answer.body, drawn } };
    }
    // A read that was dropped is sent again.
    if (isRead && controller !== this.#read) return;
    // The document says why the queue is closed.
    if (kind === "enter" && answer.status === 409) this.#share(await this.#ask({ kind: "document" }));
    this.#share(answer);
  }

  async #ask(request: Omit<FollowerRequest, "atMs">, controller = new AbortController(), body = {}): Promise<Answer> {
    const { followed: account } = this.#accounts;
    return { ...(await this.#send(request, this.#follower, this.#visitor, controller, body)), account };
  }

  // Sends the request of the follower now, and not after one that may wait.
  #changeRequest(): void {
    if (this.#follower.nextRequest.kind === "claim") this.#dropRead();
    this.#resume();
  }

  #dropRead(): void {
    const read = this.#read;
    this.#read = undefined;
    read?.abort();
  }

  #takePresence(event: PresenceEvent): void {
    const { attendance, entry } = this.#follower;
    const nowMs = this.#now();
    const isVisible = this.#presence.isVisible();
    const isOffline = (this.#follower.isOffline = this.#presence.isOnline?.() === false);
    if (event === "input") attendance.addInput(nowMs);
    if (event === "visibility") attendance.changeVisibility(isVisible, nowMs);
    if (event === "visibility" ? isVisible : event === "network" && !isOffline) {
      if (this.#follower.wake(nowMs, event === "network")) this.#dropRead();
      // The tab that the visitor looks at leads, because a browser slows down hidden ones.
      if (entry && this.#tabs?.isLeader === false) this.#tabs.lead(true);
    }
    // The pointer moves often, and changes nothing but the confirmation of a turn.
    if (event !== "input" || entry?.state === "ready") this.#publish();
    this.#changeRequest();
  }

  // Takes an answer, and tells the other tabs.
  #share(answer: Answer): void {
    // The visitor may have gone on as another account meanwhile.
    if (this.#isEnded || (answer.account ?? this.#accounts.followed) !== this.#accounts.followed) return;
    // What was thrown may be nothing that can be posted.
    this.#tabs?.post({ answer: { ...answer, cause: undefined } });
    this.#take(answer, 0);
  }

  #take(answer: Answer, ageMs: number): void {
    const { visitor } = answer.body as { visitor?: string };
    if (visitor) void this.#records.writeVisitor((this.#visitor = visitor));
    this.#follower.receive(answer, this.#now() - ageMs);
    this.#publish();
    this.#changeRequest();
  }

  #receive({ answer, ageMs = 0 }: TabMessage): void {
    const { entry: body, entryAtMs } = this.#follower;
    // All tabs get the answer to a new tab.
    if (answer && !(body && ageMs)) this.#take(answer, ageMs);
    if (answer || !body || !this.#tabs?.isLeader) return;
    const last: Answer = { kind: "status", isOk: true, status: 200, body: { ...body } };
    this.#tabs.post({ answer: last, ageMs: this.#now() - entryAtMs });
  }

  #stateNow(): PlaceState {
    const { isUnstored } = this.#records;
    const otherAccount = this.#accounts.describeOther(this.#follower.entry?.visit);
    return this.#follower.stateAt(this.#now(), { otherAccount, isUnstored });
  }

  #publish(): void {
    if (this.#isEnded) return;
    const visit = this.#follower.entry?.visit;
    this.state = this.#stateNow();
    this.#records.writePlace(this.#follower);
    if (visit) this.#records.writeAccounts(this.#accounts.toText(visit));
    if (this.#follower.isOver) {
      this.#isEnded = true;
      this.#endPresence();
      this.#signal?.removeEventListener("abort", this.close);
      this.#tabs?.close();
      this.#endClosing?.();
      this.#dropRead();
      this.#resume();
    }
    for (const listener of [...this.#listeners]) {
      try {
        listener(this.state);
      } catch (error) {
        // A listener that throws stops neither the others nor the client.
        setTimeout(() => {
          throw error;
        });
      }
    }
  }
}

/** Joins the queue, or continues with the place that this visitor already has, and follows it. */
export function joinQueue(options: QueueOptions, runtime: Runtime = RUNTIME): Place {
  return new FollowedPlace(options, runtime);
}

// A caller may ignore the promise: the state shows the failure too.
function handle<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
