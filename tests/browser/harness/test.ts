// The fixtures: each worker has its servers, and each test a fresh queue.

import {
  test as base,
  chromium,
  expect,
  type BrowserContext,
  type ConsoleMessage,
  type WebError,
} from "@playwright/test";

import { BOUND_MS, chromiumOptions } from "./chromium.js";
import { findFreePorts } from "./processes.js";
import { TestQueue } from "./queue.js";
import { startServers, type Servers } from "./servers.js";
import { Traffic } from "./traffic.js";

export { expect };

interface WorkerFixtures {
  /** The runner, and nginx in front of it. */
  servers: Servers;
  /**
   * A window of tabs that hide each other. Playwright makes every tab of its own contexts believe that it is in front,
   * and not those of the context with which a browser starts.
   */
  window: BrowserContext;
}

interface TestFixtures {
  queue: TestQueue;
  /** The requests of the pages of `context`. */
  traffic: Traffic;
  /** An empty window. Tests of one worker share its storage, so each uses its own queue. */
  tabs: BrowserContext;
  /** The requests of the pages of `tabs`. */
  tabsTraffic: Traffic;
}

export const test = base.extend<TestFixtures, WorkerFixtures>({
  servers: [
    async ({}, use) => {
      const servers = await startServers();
      await use(servers);
      await servers.stop();
    },
    { scope: "worker", timeout: 2 * BOUND_MS },
  ],

  window: [
    async ({}, use) => {
      const [port] = await findFreePorts(1);
      const browser = await chromium.launch(chromiumOptions([`--remote-debugging-port=${port}`]));
      const connection = await chromium.connectOverCDP(`http://127.0.0.1:${port}`, { noDefaults: true });
      await use(connection.contexts()[0]!);
      await connection.close();
      await browser.close();
    },
    { scope: "worker", timeout: 2 * BOUND_MS },
  ],

  queue: async ({ servers }, use, info) => {
    // A test that killed the runner may have failed before it started it again.
    await servers.restartRunner();
    await use(new TestQueue(servers.runner, `test:${info.testId}`));
  },

  context: async ({ context }, use) => {
    await withoutErrors(context, use);
  },

  traffic: async ({ context, queue }, use) => {
    await withTraffic(context, queue, use);
  },

  tabs: async ({ window }, use) => {
    await withoutErrors(window, use);
    await window.unrouteAll({ behavior: "ignoreErrors" });
    await Promise.all(window.pages().map((page) => page.close()));
  },

  tabsTraffic: async ({ tabs, queue }, use) => {
    await withTraffic(tabs, queue, use);
  },
});

async function withTraffic(context: BrowserContext, queue: TestQueue, use: (traffic: Traffic) => Promise<void>) {
  const traffic = new Traffic(context, queue.id);
  await use(traffic);
  traffic.close();
}

// Fails a test whose page throws or violates its policy. Failed requests do not count.
async function withoutErrors(context: BrowserContext, use: (context: BrowserContext) => Promise<void>) {
  const errors: string[] = [];
  const takeError = (webError: WebError) => errors.push(webError.error().message);
  const takeMessage = (message: ConsoleMessage) => {
    const isOfNetwork = /Failed to load resource|blocked by CORS policy/.test(message.text());
    if (message.type() === "error" && !isOfNetwork) errors.push(message.text());
  };
  context.on("weberror", takeError).on("console", takeMessage);
  await use(context);
  context.off("weberror", takeError).off("console", takeMessage);
  expect(errors, "errors of the page").toEqual([]);
}
