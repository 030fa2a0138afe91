// Numbers, times and durations as the visitor's locale writes them.

const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_MS = 86_400_000;
// A range is in minutes up to here, and in hours beyond.
const MINUTES_MAX_S = 90 * MINUTE_S;

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
    const [size, unit] = highSeconds < MINUTE_S ? [1, "second"] : highSeconds < MINUTES_MAX_S ? [MINUTE_S, "minute"] : [HOUR_S, "hour"];
    const low = Math.max(1, Math.round(lowSeconds / size));
    const high = Math.max(low, Math.ceil(highSeconds / size));
    const format = new Intl.NumberFormat(this.#locale, { style: "unit", unit, unitDisplay: "long" });
    // Older browsers have no ranges.
    if (low < high) return format.formatRange?.(low, high) ?? `${this.count(low)}–${format.format(high)}`;
    return format.format(high);
  }

  /** A time of the day, with the date if it is not within a day. */
  clock(unixMs: number): string {
    const date = Math.abs(unixMs - Date.now()) > DAY_MS ? ({ weekday: "long", month: "long", day: "numeric" } as const) : {};
    return new Intl.DateTimeFormat(this.#locale, { ...date, hour: "numeric", minute: "2-digit" }).format(unixMs);
  }

  /** How long ago, such as "4 seconds ago". */
  ago(ms: number): string {
    const seconds = Math.max(1, Math.round(ms / 1_000));
    const format = new Intl.RelativeTimeFormat(this.#locale);
    return seconds < MINUTE_S ? format.format(-seconds, "second") : format.format(-Math.floor(seconds / MINUTE_S), "minute");
  }

  /** A countdown, such as "26:56" or "1:02:03". */
  left(ms: number): string {
    const seconds = Math.max(0, Math.ceil(ms / 1_000));
    const digits = new Intl.NumberFormat(this.#locale, { minimumIntegerDigits: 2, useGrouping: false });
    const [hours, minutes] = [Math.floor(seconds / HOUR_S), Math.floor(seconds / MINUTE_S) % MINUTE_S];
    const parts = hours ? [this.count(hours), digits.format(minutes)] : [this.count(minutes)];
    return [...parts, digits.format(seconds % MINUTE_S)].join(":");
  }
}
