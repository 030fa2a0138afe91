// Whether the visitor is there, by the events of a browser.

import type { Presence } from "./types.js";

const EVENTS = {
  visibilitychange: "visibility",
  // A page that comes back from the back-forward cache is shown, and its timers have not run.
  pageshow: "visibility",
  online: "network",
  offline: "network",
  pointerdown: "input",
  pointermove: "input",
  keydown: "input",
  wheel: "input",
} as const;

/** The presence of a visitor in a browser. */
export const BROWSER_PRESENCE: Presence = {
  isVisible: () => !document.hidden,
  isOnline: () => navigator.onLine,
  subscribe(notify) {
    const end = new AbortController();
    for (const [name, event] of Object.entries(EVENTS)) {
      addEventListener(name, () => notify(event), { capture: true, passive: true, signal: end.signal });
    }
    return () => end.abort();
  },
};

/** The presence of a program. */
export const ALWAYS_PRESENT: Presence = { isVisible: () => true, subscribe: () => () => {} };
