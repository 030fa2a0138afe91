// What a pace and a capacity mean for the visitors: pure arithmetic, for the box that the operator reads before the order.

/** How many entries are promoted, and how many slots there are for them. */
export interface Pace {
  /** Entries per interval. */
  readonly batch: number;
  readonly intervalSeconds: number;
  /** The most slots taken at once. */
  readonly capacity: number;
}

/** The line for which a pace is chosen. */
export interface Line {
  readonly nowMs: number;
  /** Entries in line. */
  readonly waiting: number;
  /** The length of one session. */
  readonly sessionSeconds: number;
  /** The wait of the last in line by the server's estimate, or `null` if it has none. */
  readonly estimatedSeconds: number | null;
}

/** What follows from changing one pace into another. Rates are per minute: those that pace and capacity allow together. */
export interface Consequence {
  readonly before: number;
  readonly after: number;
  /** The rate of the new pace alone. */
  readonly paceAfter: number;
  /** When the last in line gets in, in Unix milliseconds. `null` if no one waits or no one gets in. */
  readonly lastBeforeMs: number | null;
  readonly lastAfterMs: number | null;
  /** How many slots the new pace takes if each session lasts its whole time. */
  readonly slotsNeeded: number;
  /** Whether the capacity holds the new pace back. */
  readonly isHeld: boolean;
}

const MINUTE_S = 60;

/** Entries per minute by batch and interval. */
export const perMinute = ({ batch, intervalSeconds }: Pick<Pace, "batch" | "intervalSeconds">): number =>
  (batch * MINUTE_S) / intervalSeconds;

/** Entries per minute that find a free slot if each session lasts its whole time. */
const slotsPerMinute = ({ capacity }: Pace, sessionSeconds: number) => (capacity * MINUTE_S) / sessionSeconds;

/** Entries per minute by pace and capacity. */
const heldRate = (pace: Pace, sessionSeconds: number) => Math.min(perMinute(pace), slotsPerMinute(pace, sessionSeconds));

/** Says what changes if `current` becomes `proposed`. */
export function findConsequence(current: Pace, proposed: Pace, line: Line): Consequence {
  const { nowMs, waiting, sessionSeconds, estimatedSeconds } = line;
  const [rateBefore, rateAfter] = [heldRate(current, sessionSeconds), heldRate(proposed, sessionSeconds)];
  // The server knows more than the pace, such as who does not come. So its estimate is scaled by the two rates.
  const secondsBefore = waiting > 0 ? (estimatedSeconds ?? (waiting / rateBefore) * MINUTE_S) : null;
  const at = (seconds: number | null) => (seconds === null || !Number.isFinite(seconds) ? null : nowMs + Math.round(seconds * 1_000));
  const paceAfter = perMinute(proposed);
  return {
    before: rateBefore,
    after: rateAfter,
    paceAfter,
    lastBeforeMs: at(secondsBefore),
    lastAfterMs: at(secondsBefore === null ? null : (secondsBefore * rateBefore) / rateAfter),
    slotsNeeded: Math.ceil((paceAfter * sessionSeconds) / MINUTE_S),
    isHeld: rateAfter < paceAfter,
  };
}
