// Bounds of what comes from the network. A number that is none, or out of its bounds, neither silences a client nor makes it
// ask without a pause.

/** The shortest and the longest time between two requests of a client, in milliseconds. */
export const PAUSE_MS_MIN = 250;
export const PAUSE_MS_MAX = 600_000;
/** The interval of polls in milliseconds, if the server sets none. */
export const POLL_MS_DEFAULT = 2_000;
/** The longest time over which the clients of a large line spread a request, in milliseconds. */
export const SPREAD_MS_MAX = 86_400_000;
/** A timer that is longer runs at once. */
export const TIMER_MS_MAX = 2 ** 31 - 1;

/** A number within its bounds, or `otherwise` for anything else. */
export function within<T>(value: unknown, otherwise: T, max: number, min = 0): number | T {
  return Number.isFinite(value) ? Math.min(max, Math.max(min, value as number)) : otherwise;
}
