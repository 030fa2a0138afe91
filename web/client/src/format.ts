// Numbers and durations as the visitor's locale writes them.

const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;
// A range is in minutes up to here, in hours up to the next bound, and in days beyond.
const MINUTES_MAX_S = 90 * MINUTE_S;
const HOURS_MAX_S = 36 * HOUR_S;

/** The unit of a duration, with its length in seconds. Hours and days begin where these parameters say. */
export function unitOf(seconds: number, hoursFromS: number, daysFromS: number): [number, "second" | "minute" | "hour" | "day"] {
  if (seconds >= daysFromS) return [DAY_S, "day"];
  if (seconds >= hoursFromS) return [HOUR_S, "hour"];
  return seconds >= MINUTE_S ? [MINUTE_S, "minute"] : [1, "second"];
}

/** The formats of one locale. */
export class Format {
  readonly locale: string;

  constructor(locale: string) {
    this.locale = locale;
  }

  /** A number. */
  count(value: number): string {
    return value.toLocaleString(this.locale);
  }

  /** A range of seconds in the unit that suits it, such as "8–10 minutes". */
  range(lowSeconds: number, highSeconds: number): string {
    const [size, unit] = unitOf(highSeconds, MINUTES_MAX_S, HOURS_MAX_S);
    const low = Math.max(1, Math.round(lowSeconds / size));
    const high = Math.max(low, Math.ceil(highSeconds / size));
    // Older browsers have no ranges.
    const format: Intl.NumberFormat & { formatRange?(low: number, high: number): string } = this.unitFormat(unit);
    return (low < high && format.formatRange?.(low, high)) || format.format(high);
  }

  /** A countdown, such as "26:56", "1:02:03" or "2 days 3:04:05". */
  left(ms: number): string {
    const seconds = Math.max(0, Math.ceil(ms / 1_000));
    const digits = (value: number) => value.toLocaleString(this.locale, { minimumIntegerDigits: 2 });
    const days = Math.floor(seconds / DAY_S);
    const [hours, minutes] = [Math.floor((seconds % DAY_S) / HOUR_S), Math.floor(seconds / MINUTE_S) % MINUTE_S];
    const parts = days || hours ? [this.count(hours), digits(minutes)] : [this.count(minutes)];
    return (days ? `${this.unitFormat("day").format(days)} ` : "") + [...parts, digits(seconds % MINUTE_S)].join(":");
  }

  /** The format of a number of units, such as "4 minutes". */
  protected unitFormat(unit: string): Intl.NumberFormat {
    return new Intl.NumberFormat(this.locale, { style: "unit", unit, unitDisplay: "long" });
  }
}
