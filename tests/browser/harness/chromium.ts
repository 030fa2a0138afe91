// How the installed Chromium is started.

import type { LaunchOptions } from "@playwright/test";

/** The longest time in milliseconds that a test waits for one condition, also on a busy machine. */
export const BOUND_MS = 40_000;

/** The options for the installed Chromium. `args` are further arguments. */
export function chromiumOptions(args: readonly string[] = []): LaunchOptions {
  return {
    executablePath: process.env["VESTIBULE_CHROMIUM"] ?? "/usr/bin/chromium",
    // A container often has only the root user and no namespaces, and the pages are our own.
    chromiumSandbox: false,
    // The browser loads only pages of this machine.
    args: ["--disable-gpu", "--no-proxy-server", ...args],
  };
}
