// What outlasts the page: the visitor id, which is the same for all queues, and the place in each queue.

import { NO_POSITION, type LowestPosition } from "./shown_position.js";
import type { PlaceStorage } from "./types.js";

const VISITOR_KEY = "vestibule:visitor";
// A storage that has not answered by then, in milliseconds, keeps the visitor from joining no longer.
const ACCESS_MS_MAX = 3_000;

/** A place that was stored. Without one, the token is empty. */
export interface StoredPlace {
  readonly token: string;
  readonly lowest: LowestPosition;
}

/** No place. */
export const NO_PLACE: StoredPlace = { token: "", lowest: NO_POSITION };

/** Values that last as long as the returned object. */
export function memoryStorage(): PlaceStorage {
  const items = new Map<string, string>();
  return { getItem: (key) => items.get(key) ?? null, setItem: (key, value) => items.set(key, value) };
}

/** The storage of the browser, if there is one and it is allowed. */
export function defaultStorage(): PlaceStorage {
  try {
    // Other environments have a `localStorage` that warns or that all visitors of the process share.
    if (globalThis.document) return localStorage;
  } catch {
    // A browser may forbid even to read its name.
  }
  return memoryStorage();
}

/** Reads and writes what is stored. The client works without a storage, so no failure of it counts. */
export class PlaceRecords {
  #storage: PlaceStorage;
  #key: string;
  // What the storage has, or `undefined` as long as it was not read. Nothing is written before.
  #text: string | undefined;
  #access: Promise<unknown> = Promise.resolve();

  /** `address` is that of the queue. */
  constructor(storage: PlaceStorage, address: string) {
    this.#storage = storage;
    this.#key = `vestibule:place:${address}`;
  }

  /**
   * Returns the visitor id. The client generates it before its first request, so that a retry of entering is safe.
   * Where `randomUUID` does not exist, such as on an insecure page, it is empty, and the server generates the id.
   */
  async readVisitor(): Promise<string> {
    const visitor = (await this.#read(VISITOR_KEY)) || (globalThis.crypto?.randomUUID?.() ?? "");
    await this.writeVisitor(visitor);
    return visitor;
  }

  /** Reads the secret that a ticket for this queue gave. */
  readSecret(): Promise<string | null | void> {
    return this.#read(`${this.#key}:visitor`);
  }

  /** Stores the visitor id, or the secret of this queue. */
  writeVisitor(visitor: string): Promise<unknown> {
    return this.#write(visitor.startsWith("vst_") ? `${this.#key}:visitor` : VISITOR_KEY, visitor);
  }

  /** Reads the place. */
  async readPlace(): Promise<StoredPlace> {
    this.#text = (await this.#read(this.#key)) ?? "";
    const [token = "", visit, position] = this.#text.split(" ");
    return { token, lowest: { visit: Number(visit), position: Number(position) } };
  }

  /** Stores the place. An empty token removes it. */
  writePlace({ token, lowest }: StoredPlace): void {
    const text = token && [token, lowest.visit, lowest.position].join(" ");
    if (this.#text === undefined || text === this.#text) return;
    this.#text = text;
    void this.#write(this.#key, text);
  }

  #read(key: string): Promise<string | null | void> {
    return this.#queue(() => this.#storage.getItem(key));
  }

  #write(key: string, value: string): Promise<unknown> {
    return this.#queue(() => this.#storage.setItem(key, value));
  }

  // One access at a time, so that an asynchronous storage keeps the last value.
  #queue<T>(access: () => T): Promise<Awaited<T> | void> {
    let timer: ReturnType<typeof setTimeout>;
    const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, ACCESS_MS_MAX)));
    const result = Promise.race([this.#access.then(access), timeout])
      .catch(() => {})
      .finally(() => clearTimeout(timer));
    this.#access = result;
    return result as Promise<Awaited<T> | void>;
  }
}
