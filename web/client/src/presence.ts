// Whether the visitor is there, by the events of a browser.

import type { Presence } from "./types.js";

const EVENTS = {
  // A page that comes back from the back-forward cache is shown, and its timers have not run.
  visibility: ["visibilitychange", "pageshow"],
  network: ["online", "offline"],
  input: ["pointerdown", "pointermove", "keydown", "wheel"],
} as const;

/** The presence of a visitor in a browser. */
export const BROWSER_PRESENCE: Presence = {
  isVisible: () => document.visibilityState === "visible",
  isOnline: () => navigator.onLine,
  subscribe(notify) {
    const end = new AbortController();
    for (const event of Object.keys(EVENTS) as (keyof typeof EVENTS)[]) {
      for (const name of EVENTS[event]) {
        addEventListener(name, () => notify(event), { capture: true, passive: true, signal: end.signal });
      }
    }
    return () => end.abort();
  },
};

/** The presence of a program. */
export const ALWAYS_PRESENT: Presence = { isVisible: () => true, subscribe: () => () => {} };
