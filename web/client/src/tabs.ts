// One tab polls for all tabs of a visitor. The tab that holds a Web Lock leads: it sends the requests, and posts the
// answers to the others. If it is closed or crashes, the browser gives the lock to the next tab, which continues. A tab
// whose leader is frozen steals the lock.
//
// Where the browser has no locks, such as on an insecure page, each tab polls for itself.

import { openChannel } from "./channel.js";
import type { Answer } from "./request.js";

/**
 * What a tab tells the others: an answer, or nothing but that it is new. `ageMs`: how old the answer to a new tab is.
 */
export interface TabMessage {
  readonly answer?: Answer;
  readonly ageMs?: number;
}

/** Runs a task while no other tab runs it. */
export function runAlone<T>(name: string, task: () => Promise<T>): Promise<T> {
  const { locks } = globalThis.navigator ?? {};
  return locks ? (locks.request(name, task) as Promise<T>).catch(task) : task();
}

/** The other tabs of the visitor. */
export class Tabs {
  /** Whether this tab sends the requests. */
  isLeader = false;
  #name: string;
  #prepare: () => Promise<unknown>;
  #change: () => void;
  #channel: BroadcastChannel | undefined;
  #request: AbortController | undefined;
  #release = () => {};
  #isClosed = false;

  /**
   * `prepare` runs before this tab leads, and `change` when it leads or does so no longer. `receive` takes the
   * messages.
   */
  constructor(
    name: string,
    prepare: () => Promise<unknown>,
    change: () => void,
    receive: (message: TabMessage) => void,
  ) {
    this.#name = name;
    this.#prepare = prepare;
    this.#change = change;
    this.#channel = globalThis.navigator?.locks && openChannel(name);
    this.isLeader = !this.#channel;
    if (!this.#channel) return;
    this.#channel.onmessage = ({ data }) => receive(data);
    this.post({});
    this.lead(false);
  }

  /** Posts a message to the other tabs. */
  post(message: TabMessage): void {
    this.#channel?.postMessage(message);
  }

  /** Waits until this tab may lead. `steal`: it leads at once. */
  lead(steal: boolean): void {
    this.#request?.abort();
    const { signal } = (this.#request = new AbortController());
    const hold = async () => {
      await this.#prepare();
      const isHeld = new Promise<void>((resolve) => (this.#release = resolve));
      if (signal !== this.#request?.signal || this.#isClosed) return;
      this.#setLeader(true);
      await isHeld;
    };
    // A request that steals takes no signal.
    navigator.locks.request(this.#name, steal ? { steal } : { signal }, hold).catch(({ name }) => {
      if (signal.aborted || this.#isClosed) return;
      // Either another tab has stolen the lock, or this page may not use locks.
      const isStolen = name === "AbortError";
      if (isStolen) this.lead(false);
      this.#setLeader(!isStolen);
    });
  }

  /** Gives the lock to the next tab. */
  close(): void {
    this.#isClosed = true;
    this.#request?.abort();
    this.#release();
    this.#channel?.close();
  }

  #setLeader(isLeader: boolean): void {
    this.isLeader = isLeader;
    this.#change();
  }
}
