// Web Locks and BroadcastChannel for several tabs in one process.

type Message = { data: unknown };

/** A channel whose messages are copied, and come later. */
export class FakeChannel {
  static readonly all = new Set<FakeChannel>();
  /** Whether no message arrives. */
  static isMuted = false;
  onmessage: ((message: Message) => void) | null = null;

  constructor(readonly name: string) {
    FakeChannel.all.add(this);
  }

  postMessage(message: unknown): void {
    const data = structuredClone(message);
    // A channel that is closed, or whose tab is frozen, sends nothing.
    if (!FakeChannel.all.has(this) || FakeChannel.isMuted) return;
    for (const other of FakeChannel.all) {
      if (other === this || other.name !== this.name) continue;
      setImmediate(() => FakeChannel.all.has(other) && other.onmessage?.({ data }));
    }
  }

  close(): void {
    FakeChannel.all.delete(this);
  }
}

interface LockRequest {
  readonly name: string;
  readonly run: () => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The locks of one origin. */
export class FakeLocks {
  isForbidden = false;
  #held = new Map<string, LockRequest>();
  #waiting: LockRequest[] = [];

  request(name: string, ...rest: [() => Promise<unknown>] | [LockOptions, () => Promise<unknown>]): Promise<unknown> {
    const [{ signal, steal }, run] = rest.length === 2 ? rest : [{} as LockOptions, rest[0]];
    if (this.isForbidden) return Promise.reject(namedError("SecurityError"));
    if (signal && steal) return Promise.reject(namedError("NotSupportedError"));
    return new Promise((resolve, reject) => {
      const request = { name, run, resolve, reject };
      signal?.addEventListener("abort", () => {
        if (!this.#waiting.includes(request)) return;
        this.#waiting = this.#waiting.filter((other) => other !== request);
        reject(namedError("AbortError"));
      });
      if (steal) {
        this.#held.get(name)?.reject(namedError("AbortError"));
        this.#grant(request);
      } else {
        this.#waiting.push(request);
        this.#grantNext(name);
      }
    });
  }

  /** How many places are locked. */
  get holders(): number {
    return [...this.#held.keys()].filter((name) => name.includes("/queues/")).length;
  }

  /** The tab that holds the lock ends without a word. */
  crashHolder(part: string): void {
    const name = this.freezeHolder(part);
    this.#held.delete(name);
    this.#grantNext(name);
  }

  /** The tab that holds the lock hears nothing more of it, also not that it is stolen. */
  freezeHolder(part: string): string {
    const name = [...this.#held.keys()].find((held) => held.includes(part))!;
    this.#held.set(name, { ...this.#held.get(name)!, reject: () => {}, resolve: () => {} });
    return name;
  }

  #grantNext(name: string): void {
    const next = this.#waiting.find((request) => request.name === name);
    if (!next || this.#held.has(name)) return;
    this.#waiting = this.#waiting.filter((request) => request !== next);
    this.#grant(next);
  }

  #grant(request: LockRequest): void {
    const { name, run, resolve, reject } = request;
    this.#held.set(name, request);
    setImmediate(() => {
      const release = () => {
        if (this.#held.get(name) !== request) return;
        this.#held.delete(name);
        this.#grantNext(name);
      };
      run().then(resolve, reject).finally(release);
    });
  }
}

function namedError(name: string): Error {
  return Object.assign(new Error(name), { name });
}
