// The tests of the waiting page and the client library in the Chromium of this machine. infra/browser.sh starts them, and
// names the programs in VESTIBULE_CHROMIUM, VESTIBULE_NGINX and VESTIBULE_LOCAL_BIN.

import { defineConfig } from "@playwright/test";

import { BOUND_MS, chromiumOptions } from "./harness/chromium.js";

export default defineConfig({
  testDir: "specs",
  // Each worker has its own servers and each test its own queue, and a test waits most of its time.
  fullyParallel: true,
  workers: 7,
  // A busy machine can keep a server or a browser from starting. Each test that passes only the second time has found a
  // fault, and harness/report.ts names it.
  retries: 1,
  timeout: 3 * BOUND_MS,
  expect: { timeout: BOUND_MS },
  reporter: [["list", { printSteps: false }], ["./harness/report.ts"]],
  use: { launchOptions: chromiumOptions(), actionTimeout: BOUND_MS, navigationTimeout: BOUND_MS },
});
