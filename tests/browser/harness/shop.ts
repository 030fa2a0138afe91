// The example shops, each in front of a queue.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { ServerProcess, findFreePorts } from "./processes.js";
import type { Json, TestQueue } from "./queue.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const python = process.env["VESTIBULE_SHOP_PYTHON"] ?? join(root, ".tools/fastapi/bin/python");
// Another process may take a port between its choice and the start of the shop.
const ATTEMPTS = 5;

/** One of the example shops. */
export class ShopExample {
  readonly name: string;
  readonly #source: string;
  readonly #command: (port: number) => string[];
  readonly #isUncounted: RegExp;

  constructor(name: string, source: string, isUncounted: RegExp, command: (port: number) => string[]) {
    this.name = name;
    this.#source = join(root, source);
    this.#isUncounted = isUncounted;
    this.#command = command;
  }

  /** The number of lines that are neither empty nor imports nor comments. */
  async countLines(): Promise<number> {
    const lines = (await readFile(this.#source, "utf8")).split("\n");
    return lines.filter((line) => !this.#isUncounted.test(line)).length;
  }

  /**
   * Runs the shop before a queue that exists, and tells the queue where the shop is. `base` is the address of the
   * waiting room, and `variables` are further variables of the environment, as `NAME=value`.
   */
  async run(
    base: string,
    queue: TestQueue,
    use: (address: string) => Promise<void>,
    variables: readonly string[] = [],
  ): Promise<void> {
    const { shop, address } = await this.#start([`API=${base}`, `QUEUE=${queue.id}`, "NO_PROXY=127.0.0.1", ...variables]);
    try {
      await queue.setTarget(`${address}/enter?pass={pass}&return={return}`);
      await use(address);
    } finally {
      await shop.stop();
    }
  }

  async #start(variables: readonly string[]): Promise<{ shop: ServerProcess; address: string }> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const [port = 0] = await findFreePorts(1);
      const shop = new ServerProcess("env", [...variables, `PORT=${port}`, ...this.#command(port)]);
      if (await shop.waitUntilListening(port)) return { shop, address: `http://127.0.0.1:${port}` };
    }
    throw new Error(`the shop with ${this.name} ended ${ATTEMPTS} times before it listened; its messages are above`);
  }
}

export const SHOPS = [
  new ShopExample("Express", "examples/express/shop.mjs", /^\s*(\/\/|import |$)/, () => [
    process.execPath,
    join(root, "examples/express/shop.mjs"),
  ]),
  new ShopExample("FastAPI", "examples/fastapi/shop.py", /^\s*(#|import |from |$)/, (port) => [
    ...[python, "-m", "uvicorn", "shop:app", "--app-dir", join(root, "examples/fastapi"), "--port", String(port)],
    ...["--no-access-log", "--log-level", "warning"],
  ]),
];

/** Returns the pass of a new visitor, who is let in at once. */
export async function enterForPass(queue: TestQueue): Promise<string> {
  const { entry }: { entry: Json } = await queue.enter();
  return entry["pass"];
}
