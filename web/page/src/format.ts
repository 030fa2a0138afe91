// Times as the visitor's locale writes them, besides numbers and durations.

import { Format, unitOf } from "../../client/src/format.js";

const HOUR_S = 3_600;
const DAY_S = 86_400;
const DAY_MS = 86_400_000;

const TIME = { hour: "numeric", minute: "2-digit" } as const;
const DAY = { weekday: "long", month: "long", day: "numeric" } as const;

/** Whether a time is so far from now that its day belongs to it. */
export const isFar = (unixMs: number): boolean => Math.abs(unixMs - Date.now()) > DAY_MS;

/** The formats of one locale. */
export class PageFormat extends Format {
  /** A time of the day with its zone. */
  time(unixMs: number): string {
    return this.#date(unixMs, { ...TIME, timeZoneName: "short" });
  }

  /** A day. */
  day(unixMs: number): string {
    return this.#date(unixMs, DAY);
  }

  /** A time of the day, with the day if it is not within one. */
  clock(unixMs: number): string {
    return this.#date(unixMs, isFar(unixMs) ? { ...DAY, ...TIME } : TIME);
  }

  /** How long ago, such as "4 seconds ago". */
  ago(ms: number): string {
    const seconds = Math.max(1, Math.round(ms / 1_000));
    const [size, unit] = unitOf(seconds, HOUR_S, DAY_S);
    return new Intl.RelativeTimeFormat(this.locale).format(-Math.floor(seconds / size), unit);
  }

  /** A duration in words, by two units at most: "48 seconds" or "4 minutes, 12 seconds". */
  duration(ms: number): string {
    let seconds = Math.max(0, Math.ceil(ms / 1_000));
    const parts: string[] = [];
    do {
      const [size, unit] = unitOf(seconds, HOUR_S, DAY_S);
      parts.push(this.unitFormat(unit).format(Math.floor(seconds / size)));
      seconds %= size;
    } while (seconds && parts.length < 2);
    return new Intl.ListFormat(this.locale, { type: "unit" }).format(parts);
  }

  #date(unixMs: number, options: Intl.DateTimeFormatOptions): string {
    return new Intl.DateTimeFormat(this.locale, options).format(unixMs);
  }
}
