// What the samples of a queue say: rates, columns per minute, and the wait told against the wait had. Pure.

import { perMinute } from "./pace.js";
import type { Sample } from "./types.js";
import type { WaitEstimate } from "./wire.js";

const MINUTE_MS = 60_000;
/** How many minutes the charts show. */
export const MINUTES = 30;
// The largest gap between two samples for which the sum between them belongs to the later one.
const GAP_MS_MAX = 90_000;
// A sample this close to a moment stands for it.
const NEAR_MS = 30_000;

/** The visitors let in during one minute that ended at `endMs`. */
export interface Column {
  readonly endMs: number;
  /** `null` if nothing is known of this minute. */
  readonly count: number | null;
  /** The pace in force at its end, in entries per minute, or `null` if it is not known. */
  readonly pace: number | null;
  /** Whether the queue was paused at some time in this minute. */
  readonly wasPaused: boolean;
}

/** One moment at which visitors were promoted. */
export interface WaitPoint {
  readonly atMs: number;
  /** Their mean wait in seconds. */
  readonly had: number;
  /** The wait that the last in line was told when they joined, or `null` if the samples begin later. */
  readonly told: WaitEstimate | null;
}

/** The samples of the last 30 minutes. */
export const recentSamples = (samples: readonly Sample[], nowMs: number): Sample[] =>
  samples.filter(({ at_ms }) => at_ms > nowMs - MINUTES * MINUTE_MS && at_ms <= nowMs);

// How many visitors the pace has let in so far.
const takenOfPace = ({ promoted, fast_tracked }: Sample): number | null =>
  promoted === null ? null : promoted + (fast_tracked ?? 0);

// The growth of a total since the sample before. A total begins at 0 again after a reset.
function growth(before: number | null, now: number | null): number | null {
  if (before === null || now === null) return null;
  return now >= before ? now - before : now;
}

/** How many visitors were let in by the pace, from the line or by the fast track, in each of the last 30 minutes, the oldest first. */
export function countPerMinute(samples: readonly Sample[], nowMs: number): Column[] {
  const counts: (number | null)[] = Array.from({ length: MINUTES }, () => null);
  const paces: (number | null)[] = Array.from({ length: MINUTES }, () => null);
  const paused: boolean[] = Array.from({ length: MINUTES }, () => false);
  samples.forEach((sample, n) => {
    const column = MINUTES - 1 - Math.floor((nowMs - sample.at_ms) / MINUTE_MS);
    if (column < 0 || column >= MINUTES) return;
    const { batch, interval_seconds: intervalSeconds } = sample;
    if (batch !== null && intervalSeconds !== null) paces[column] = perMinute({ batch, intervalSeconds });
    if (sample.paused) paused[column] = true;
    const before = samples[n - 1];
    if (!before || sample.at_ms - before.at_ms > GAP_MS_MAX) return;
    const letIn = growth(takenOfPace(before), takenOfPace(sample));
    if (letIn !== null) counts[column] = (counts[column] ?? 0) + letIn;
  });
  return counts.map((count, n) => ({
    endMs: nowMs - (MINUTES - 1 - n) * MINUTE_MS,
    count,
    pace: paces[n]!,
    wasPaused: paused[n]!,
  }));
}

/** How many visitors entered per second in the last minute, or `null` if the samples do not tell. */
export function arrivalsPerSecond(samples: readonly Sample[], nowMs: number): number | null {
  const recent = samples.filter(({ at_ms, entered }) => entered !== null && at_ms > nowMs - MINUTE_MS - NEAR_MS);
  const [first, last] = [recent[0], recent.at(-1)];
  if (!first || !last || last.at_ms <= first.at_ms) return null;
  const entered = growth(first.entered, last.entered)!;
  return entered / ((last.at_ms - first.at_ms) / 1_000);
}

/** The waits that promoted visitors had, each with the wait that was told when they joined. */
export function compareWaits(samples: readonly Sample[]): WaitPoint[] {
  const told = samples.filter(({ estimated_wait_seconds }) => estimated_wait_seconds !== null);
  return samples.flatMap(({ at_ms: atMs, had_wait_seconds: had }) => {
    if (had === null) return [];
    const joinedAtMs = atMs - had * 1_000;
    const nearest = told.reduce<Sample | undefined>((best, sample) => {
      const distance = Math.abs(sample.at_ms - joinedAtMs);
      return distance <= NEAR_MS && distance < Math.abs((best?.at_ms ?? -Infinity) - joinedAtMs) ? sample : best;
    }, undefined);
    return [{ atMs, had, told: nearest?.estimated_wait_seconds ?? null }];
  });
}

const middle = ({ low, high }: { low: number; high: number }) => (low + high) / 2;

/** How many times the waits had were told. `null` without a comparison. */
export function toldFactor(points: readonly WaitPoint[]): number | null {
  const compared = points.filter(({ told, had }) => told !== null && had > 0);
  const sum = (numberOf: (point: WaitPoint) => number) => compared.reduce((sum, point) => sum + numberOf(point), 0);
  const told = sum((point) => middle(point.told!));
  return told > 0 ? told / sum(({ had }) => had) : null;
}

/** How far the waits had lie from the middle of what was told, as a share of the wait had. `null` without a comparison. */
export function meanError(points: readonly WaitPoint[]): number | null {
  const compared = points.filter(({ told, had }) => told !== null && had > 0);
  if (compared.length === 0) return null;
  const errors = compared.map(({ told, had }) => Math.abs(had - middle(told!)) / had);
  return errors.reduce((sum, error) => sum + error, 0) / errors.length;
}
