// Processes that a worker starts, and stops by their own ids.

import { spawn, type ChildProcess } from "node:child_process";
import { createServer, connect, type AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const START_MS_MAX = 30_000;
const LOOK_PAUSE_MS = 20;

/** A running child process. */
export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #name: string;

  constructor(program: string, args: readonly string[]) {
    this.#name = program;
    this.#child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
    this.#ended = new Promise((resolve) => {
      this.#child.once("exit", () => resolve());
      this.#child.once("error", (error) => {
        console.error(`${program} could not be started: ${error.message}`);
        resolve();
      });
    });
    // A worker that ends by an error stops its servers too.
    process.once("exit", this.#kill);
  }

  /** Returns the first lines that the process prints. */
  async readLines(count: number): Promise<string[]> {
    // The interface reads on, so that the process never writes into a full pipe.
    const lines = createInterface({ input: this.#child.stdout! });
    const read: string[] = [];
    const all = new Promise<string[]>((resolve) => lines.on("line", (line) => read.push(line) === count && resolve(read)));
    const failure = Promise.race([this.#ended, sleep(START_MS_MAX, undefined, { ref: false })]);
    return Promise.race([
      all,
      failure.then(() => {
        throw new Error(`${this.#name} has not started`);
      }),
    ]);
  }

  /** Waits until the process listens on a port. Returns `false` if it ended first. */
  async waitUntilListening(port: number): Promise<boolean> {
    const endsAtMs = Date.now() + START_MS_MAX;
    while (this.#isRunning) {
      if (await isListening(port)) return true;
      if (Date.now() > endsAtMs) throw new Error(`${this.#name} does not listen on port ${port}`);
      await sleep(LOOK_PAUSE_MS);
    }
    return false;
  }

  /** Kills the process and waits for its end. */
  async stop(): Promise<void> {
    process.off("exit", this.#kill);
    this.#kill();
    await this.#ended;
  }

  get #isRunning(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  readonly #kill = (): void => void this.#child.kill("SIGKILL");
}

/** Returns different free ports of the loopback address. Another process may take one before it is used. */
export async function findFreePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  await Promise.all(
    servers.map((server) => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
