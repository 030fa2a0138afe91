// How the installed Chromium is started.

import { fileURLToPath } from "node:url";

import type { LaunchOptions } from "@playwright/test";

/** The longest time in milliseconds that a test waits for one condition, also on a busy machine. */
export const BOUND_MS = 40_000;

/** A list of fonts in the folder `fonts`, from the packages of these tests. */
export type FontList = "usual" | "wide";

/** The options for the installed Chromium. `args` are further arguments. */
export function chromiumOptions(args: readonly string[] = [], fonts: FontList = "usual"): LaunchOptions {
  return {
    executablePath: process.env["VESTIBULE_CHROMIUM"] ?? "/usr/bin/chromium",
    // A container often has only the root user and no namespaces, and the pages are our own.
    chromiumSandbox: false,
    // The browser loads only pages of this machine, from servers that listen on 127.0.0.1. Another process may have the same
    // port of ::1.
    args: ["--disable-gpu", "--no-proxy-server", "--host-resolver-rules=MAP localhost 127.0.0.1", ...args],
    env: chromiumEnvironment(fonts),
  };
}

// The fonts of the machine, its time zone and its language must not change what a test sees. macOS finds fonts without
// fontconfig, and has its own.
function chromiumEnvironment(fonts: FontList): Record<string, string> {
  const { LANGUAGE, LC_ALL, ...others } = process.env as Record<string, string>;
  const list = fileURLToPath(new URL(`../fonts/${fonts}.conf`, import.meta.url));
  return { ...others, FONTCONFIG_FILE: list, LANG: "en_US.UTF-8", TZ: "UTC" };
}
