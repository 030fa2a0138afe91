// The servers of a whole sale: the runner with its line in a Redis of its own, which a test stops and starts again.

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { ServerProcess, findFreePorts } from "./processes.js";
import { readConsoleAddress } from "./servers.js";

// Another process may take a port between its choice and the start of Redis.
const ATTEMPTS = 5;

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** A Redis that keeps its data in a folder, as a managed one does that fails over without a loss. */
class RedisServer {
  #process: ServerProcess | undefined;

  private constructor(
    private readonly folder: string,
    private readonly port: number,
  ) {}

  /** Starts a Redis on a free port. */
  static async start(folder: string): Promise<RedisServer> {
    await mkdir(folder);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const [port = 0] = await findFreePorts(1);
      const redis = new RedisServer(folder, port);
      if (await redis.restart()) return redis;
    }
    throw new Error(`Redis ended ${ATTEMPTS} times before it listened; ${folder}/redis.log says why`);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Kills it. Redis writes each change to its file before it answers, so the data of acknowledged changes stays. */
  async kill(): Promise<void> {
    await this.#process?.stop();
  }

  /** Starts it with the data of before. Returns `false` if it ends at once. */
  async restart(): Promise<boolean> {
    const address = ["--bind", "127.0.0.1", "--port", String(this.port)];
    const files = ["--dir", this.folder, "--appendonly", "yes", "--save", "", "--logfile", "redis.log"];
    this.#process = new ServerProcess("redis-server", [...address, ...files]);
    return this.#process.waitUntilListening(this.port);
  }
}

/** The servers of one sale. */
export interface SaleServers {
  /** The address of the runner. */
  readonly runner: string;
  /** The address of the console, with its key. */
  readonly console: string;
  /** Kills the Redis of the line. */
  killRedis(): Promise<void>;
  /** Starts it again with its data. */
  restartRedis(): Promise<void>;
  /** Stops all servers and removes their folder. */
  stop(): Promise<void>;
}

/** Starts the servers on free ports. */
export async function startSaleServers(): Promise<SaleServers> {
  const folder = await mkdtemp(join(tmpdir(), "vestibule-night-"));
  const redis = await RedisServer.start(join(folder, "redis"));
  const program = process.env["VESTIBULE_LOCAL_BIN"] ?? join(root, "target/debug/vestibule-local");
  const options = ["--redis", redis.url, "--dir", join(folder, "runner"), "--port", "0", "--demo-visitors", "0", "--quiet"];
  const runner = new ServerProcess(program, options);
  const stop = async (): Promise<void> => {
    await runner.stop();
    await redis.kill();
    await rm(folder, { recursive: true });
  };
  try {
    const [greeting = "", console = ""] = await runner.readLines(2);
    const port = /:(\d+)\/?$/.exec(greeting)?.[1];
    return {
      runner: `http://127.0.0.1:${port}`,
      console: readConsoleAddress(console),
      killRedis: () => redis.kill(),
      restartRedis: async () => {
        if (!(await redis.restart())) throw new Error("Redis has not started again");
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
