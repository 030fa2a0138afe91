// The way of an admitted visitor to the shop, which ends a loop with a shop that does not accept the pass:
//
//   const handOver = new HandOver();
//   if (state.status === "active") handOver.go(state.targetUrl, state.token);

import { readStored, writeStored } from "./stored.js";

// So many automatic redirects to the shop within this time are no loop.
const REDIRECTS_MAX = 2;
const LOOP_MS = 60_000;

/** Sends the visitor to the shop, unless the shop sends the visitor back again and again. */
export class HandOver {
  /** Whether the shop has sent the visitor back twice within a minute: then it does not accept the pass. */
  isLooping = false;
  // The entry that was handed over.
  #token = "";

  /**
   * Goes to the shop, once with each entry: another account is no loop. The address replaces this page in the history, so
   * that going back does not redirect again.
   */
  go(address: string, token: string): void {
    if (token === this.#token) return;
    this.#token = token;
    this.isLooping = this.#isSentBack(address);
    if (!this.isLooping) location.replace(address);
  }

  #isSentBack(address: string): boolean {
    const nowMs = Date.now();
    const key = `vestibule:redirects:${this.#token}`;
    const times = (readStored(key, "sessionStorage") ?? "").split(" ").map(Number);
    const recent = times.filter((ms) => ms <= nowMs && ms > nowMs - LOOP_MS);
    if (recent.length >= REDIRECTS_MAX) return true;
    const text = [...recent, nowMs].join(" ");
    writeStored(key, text, "sessionStorage");
    // Without a storage each time is the first one, so the visitor who comes from the shop goes back by hand.
    const isCounted = readStored(key, "sessionStorage") === text;
    return !isCounted && document.referrer.startsWith(`${new URL(address, location.href).origin}/`);
  }
}
