// Values that outlast the page. A browser may forbid the storage; then they last as long as the page.

/** Reads a value, or `null`. */
export function readStored(key: string, storage: "localStorage" | "sessionStorage" = "localStorage"): string | null {
  try {
    return globalThis[storage].getItem(key);
  } catch {
    return null;
  }
}

/** Writes a value. */
export function writeStored(key: string, value: string, storage: "localStorage" | "sessionStorage" = "localStorage"): void {
  try {
    globalThis[storage].setItem(key, value);
  } catch {
    // The page works without.
  }
}
