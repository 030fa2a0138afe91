// Numbers, times and durations as the operator's locale writes them.

import { Format } from "../../client/src/format.js";

const MINUTE_S = 60;
const HOUR_S = 3_600;

/** The formats of one locale. */
export class ConsoleFormat extends Format {
  /** A rate, with a decimal only if it is small. */
  rate(value: number): string {
    return value.toLocaleString(this.locale, { maximumFractionDigits: value < 100 ? 1 : 0 });
  }

  /** A share, such as "6.1 %". */
  percent(share: number): string {
    return share.toLocaleString(this.locale, { style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0 });
  }

  /** A time of the day with seconds left out. The hour has two digits, so that a column of times is even. */
  time(unixMs: number): string {
    return new Intl.DateTimeFormat(this.locale, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(unixMs);
  }

  /** A day and a time. */
  moment(unixMs: number): string {
    return new Intl.DateTimeFormat(this.locale, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" }).format(unixMs);
  }

  /** A time of the day, with the day if it is another one. */
  when(unixMs: number, nowMs: number): string {
    const isToday = new Date(unixMs).toDateString() === new Date(nowMs).toDateString();
    return isToday ? this.time(unixMs) : this.moment(unixMs);
  }

  /** A duration in its two largest units, such as "1 min 52 sec". */
  span(ms: number): string {
    const seconds = Math.max(0, Math.round(ms / 1_000));
    const unit = (value: number, name: string) =>
      value.toLocaleString(this.locale, { style: "unit", unit: name, unitDisplay: "short" });
    if (seconds < MINUTE_S) return unit(seconds, "second");
    const [size, large, small] = seconds < HOUR_S ? ([MINUTE_S, "minute", "second"] as const) : ([HOUR_S, "hour", "minute"] as const);
    const whole = Math.floor(seconds / size);
    const rest = Math.floor((seconds % size) / (size / MINUTE_S));
    return rest ? `${unit(whole, large)} ${unit(rest, small)}` : unit(whole, large);
  }

  /** How long a part took, such as "0.4 ms". */
  milliseconds(ms: number): string {
    return ms.toLocaleString(this.locale, {
      style: "unit",
      unit: "millisecond",
      unitDisplay: "short",
      maximumFractionDigits: ms < 10 ? 1 : 0,
    });
  }

  /** A name of a language, such as "Korean". */
  language(tag: string): string {
    try {
      return new Intl.DisplayNames(this.locale, { type: "language" }).of(tag) ?? tag;
    } catch {
      return tag;
    }
  }
}
