// Lets a waiting visitor leave by closing the page, in a queue whose operator allows it (`leave_on_close`):
//
//   joinQueue({ queue: "demo:1", whenClosed: leaveOnClose });
//
// The page that closes tells the server, and the visitor leaves 15 s later unless a request comes before. A page that is
// loaded again, and another tab that leads from now on, send one at once. The message of the closed page may be slower
// than that request, so they send another one later.

import type { WhenClosed } from "./types.js";

// Later than a slow message of the closed page, and well before the 15 s have passed.
const SECOND_LOOK_MS = 5_000;

/** The option `whenClosed` of a page whose visitors leave by closing it. */
export const leaveOnClose: WhenClosed = ({ hadPlace, ask }) => {
  const end = new AbortController();
  // The back-forward cache keeps a page, which shows itself again without being loaded.
  const close = ({ persisted }: PageTransitionEvent) => persisted || ask("close");
  addEventListener("pagehide", close, { signal: end.signal });
  const look = () => ask("status");
  if (hadPlace) look();
  const timer = hadPlace ? setTimeout(look, SECOND_LOOK_MS) : undefined;
  return () => {
    end.abort();
    clearTimeout(timer);
  };
};
