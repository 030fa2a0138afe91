// The fixtures: each worker has its servers, and each test a fresh queue.

import { test as base, chromium, expect, type BrowserContext } from "@playwright/test";

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
  /** Fails a test whose page throws or violates its policy. */
  pageErrors: string[];
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

  traffic: async ({ context, queue }, use) => {
    await use(new Traffic(context, queue.id));
  },

  tabs: async ({ window }, use) => {
    await use(window);
    await window.unrouteAll({ behavior: "ignoreErrors" });
    await Promise.all(window.pages().map((page) => page.close()));
  },

  pageErrors: [
    async ({ context }, use) => {
      const errors = collectErrors(context);
      await use(errors);
      expect(errors, "errors of the page").toEqual([]);
    },
    { auto: true },
  ],
});

/** Collects the exceptions of the pages of a context, and what violates their policy. Failed requests do not count. */
export function collectErrors(context: BrowserContext): string[] {
  const errors: string[] = [];
  context.on("weberror", (webError) => errors.push(webError.error().message));
  context.on("console", (message) => {
    const isOfNetwork = /Failed to load resource|blocked by CORS policy/.test(message.text());
    if (message.type() === "error" && !isOfNetwork) errors.push(message.text());
  });
  return errors;
}
