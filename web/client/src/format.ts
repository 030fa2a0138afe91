// Numbers, times and durations as the visitor's locale writes them.

const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;
// A range is in minutes up to here, in hours up to the next bound, and in days beyond.
const MINUTES_MAX_S = 90 * MINUTE_S;
const HOURS_MAX_S = 36 * HOUR_S;

/** The unit of a duration, with its length in seconds. Hours and days begin where these parameters say. */
function unitOf(seconds: number, hoursFromS: number, daysFromS: number): [number, "second" | "minute" | "hour" | "day"] {
  if (seconds >= daysFromS) return [DAY_S, "day"];
  if (seconds >= hoursFromS) return [HOUR_S, "hour"];
  return seconds >= MINUTE_S ? [MINUTE_S, "minute"] : [1, "second"];
}

const TIME = { hour: "numeric", minute: "2-digit" } as const;
const DAY = { weekday: "long", month: "long", day: "numeric" } as const;

/** Whether a time is so far from now that its day belongs to it. */
export const isFar = (unixMs: number): boolean => Math.abs(unixMs - Date.now()) > DAY_S * 1_000;

/** The formats of one locale. */
export class Format {
  #locale: string;

  constructor(locale: string) {
    this.#locale = locale;
  }

  /** A number. */
  count(value: number): string {
    return value.toLocaleString(this.#locale);
  }

  /** A range of seconds in the unit that suits it, such as "8–10 minutes". */
  range(lowSeconds: number, highSeconds: number): string {
    const [size, unit] = unitOf(highSeconds, MINUTES_MAX_S, HOURS_MAX_S);
    const low = Math.max(1, Math.round(lowSeconds / size));
    const high = Math.max(low, Math.ceil(highSeconds / size));
    // Older browsers have no ranges.
    const format: Intl.NumberFormat & { formatRange?(low: number, high: number): string } = this.#unit(unit);
    return (low < high && format.formatRange?.(low, high)) || format.format(high);
  }

  /** A time of the day, and its zone if that is asked for. */
  time(unixMs: number, timeZoneName?: "short"): string {
    return this.#date(unixMs, { ...TIME, timeZoneName });
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
    return new Intl.RelativeTimeFormat(this.#locale).format(-Math.floor(seconds / size), unit);
  }

  /** A countdown, such as "26:56", "1:02:03" or "2 days 3:04:05". */
  left(ms: number): string {
    const seconds = Math.max(0, Math.ceil(ms / 1_000));
    const digits = new Intl.NumberFormat(this.#locale, { minimumIntegerDigits: 2, useGrouping: false });
    const days = Math.floor(seconds / DAY_S);
    const [hours, minutes] = [Math.floor((seconds % DAY_S) / HOUR_S), Math.floor(seconds / MINUTE_S) % MINUTE_S];
    const parts = days || hours ? [this.count(hours), digits.format(minutes)] : [this.count(minutes)];
    return (days ? `${this.#unit("day").format(days)} ` : "") + [...parts, digits.format(seconds % MINUTE_S)].join(":");
  }

  #unit(unit: string): Intl.NumberFormat {
    return new Intl.NumberFormat(this.#locale, { style: "unit", unit, unitDisplay: "long" });
  }

  #date(unixMs: number, options: Intl.DateTimeFormatOptions): string {
    return new Intl.DateTimeFormat(this.#locale, options).format(unixMs);
  }
}
