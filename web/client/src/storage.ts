// What outlasts the page: the visitor id, which is the same for all queues, and in each queue the place of each account.

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
  const items: Record<string, string> = {};
  return { getItem: (key) => items[key] ?? null, setItem: (key, value) => (items[key] = value) };
}

// A storage of the browser. What it refuses to keep goes into the tab's history, which a reload keeps. What else the page has
// there stays, also if it is no object.
function browserStorage(name: "localStorage" | "sessionStorage"): PlaceStorage {
  const items: Record<string, string> = {};
  return {
    getItem: (key) => history.state?.[key] ?? globalThis[name].getItem(key),
    setItem(key, value) {
      try {
        globalThis[name].setItem(key, value);
      } catch (error) {
        items[key] = value;
        const { state } = history;
        if ((state ?? items).constructor !== Object) throw error;
        history.replaceState({ ...state, ...items }, "");
      }
    },
  };
}

// Other environments have a `localStorage` that warns or that all visitors of the process share.
const defaultStorage = (name: "localStorage" | "sessionStorage") =>
  globalThis.document ? browserStorage(name) : memoryStorage();

/**
 * A visitor id. Where `randomUUID` does not exist, such as on an insecure page, it is empty, and the server generates one.
 */
export function drawVisitor(): string {
  return globalThis.crypto?.randomUUID?.() ?? "";
}

/** Reads and writes what is stored. The client works without a storage, so no failure of it counts. */
export class PlaceRecords {
  /** Whether something that was written is not kept. */
  isUnstored = false;
  // The account whose place and secret are read and written.
  #account = "";
  #storage: PlaceStorage;
  // What a tab of a browser keeps for itself. Any other storage is the same.
  #tabStorage: PlaceStorage;
  #key: string;
  #accounts = "";
  // What the storage has, or `undefined` as long as it was not read. Nothing is written before.
  #text: string | undefined;
  #access: Promise<unknown> = Promise.resolve();

  /** `address` is that of the queue. Without a `storage`, it is the browser's. */
  constructor(storage: PlaceStorage | undefined, address: string) {
    this.#storage = storage ?? defaultStorage("localStorage");
    this.#tabStorage = storage ?? defaultStorage("sessionStorage");
    this.#key = `vestibule:place:${address}`;
  }

  /** Returns the visitor id. The client draws it before its first request, so that a retry of entering is safe. */
  async readVisitor(): Promise<string> {
    const visitor = (await this.#read(VISITOR_KEY)) || drawVisitor();
    await this.writeVisitor(visitor);
    return visitor;
  }

  /** Reads the accounts of this tab, or of the browser. */
  async readAccounts(): Promise<string> {
    const key = `${this.#key}:accounts`;
    this.#accounts = (await this.#read(key, this.#tabStorage)) ?? "";
    return this.#accounts || ((await this.#read(key)) ?? "");
  }

  /** Stores the accounts for this tab, and for the next one. */
  writeAccounts(text: string): void {
    if (text === this.#accounts) return;
    this.#accounts = text;
    for (const storage of [this.#storage, this.#tabStorage]) void this.#write(`${this.#key}:accounts`, text, storage);
  }

  /** Reads the text of the place of an account, if it has one. */
  readPlaceOf(account: string): Promise<string | null | void> {
    return this.#read(this.#placeKey(account));
  }

  /** Reads the secret that a ticket for this queue gave. */
  readSecret(): Promise<string | null | void> {
    return this.#read(`${this.#placeKey()}:visitor`);
  }

  /** Stores the visitor id, or the secret of this queue. */
  writeVisitor(visitor: string): Promise<unknown> {
    return this.#write(visitor.startsWith("vst_") ? `${this.#placeKey()}:visitor` : VISITOR_KEY, visitor);
  }

  /** Reads and writes the place of this account from now on. */
  selectAccount(account: string): void {
    this.#account = account;
    this.#text = undefined;
  }

  /** Reads the place. */
  async readPlace(): Promise<StoredPlace> {
    this.#text = (await this.#read(this.#placeKey())) ?? "";
    const [token = "", visit, position] = this.#text.split(" ");
    return { token, lowest: { visit: Number(visit), position: Number(position) || Infinity } };
  }

  /** Stores the place. An empty token removes it. */
  writePlace({ token, lowest }: StoredPlace): void {
    const text = token && [token, lowest.visit, lowest.position].join(" ");
    if (this.#text === undefined || text === this.#text) return;
    this.#text = text;
    void this.#write(this.#placeKey(), text);
  }

  #placeKey(account = this.#account): string {
    return account ? `${this.#key}@${account}` : this.#key;
  }

  #read(key: string, storage = this.#storage): Promise<string | null | void> {
    return this.#queue(() => storage.getItem(key));
  }

  #write(key: string, value: string, storage = this.#storage): Promise<unknown> {
    return this.#queue(() => storage.setItem(key, value), true);
  }

  // One access at a time, so that an asynchronous storage keeps the last value.
  #queue<T>(access: () => T, isWrite = false): Promise<Awaited<T> | void> {
    let timer: ReturnType<typeof setTimeout>;
    const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, ACCESS_MS_MAX)));
    const result = Promise.race([this.#access.then(access), timeout])
      .catch(() => void (this.isUnstored ||= isWrite))
      .finally(() => clearTimeout(timer));
    this.#access = result;
    return result as Promise<Awaited<T> | void>;
  }
}
