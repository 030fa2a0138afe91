// The geometry of the charts. Pure: numbers to points and paths of SVG.

/** The size of a chart in its own units. The text of the axis is below `plotHeight`. */
export const SIZE = { width: 320, height: 120, plotHeight: 100 } as const;

/** A point in the units of a chart. */
export type Point = readonly [x: number, y: number];

const STEPS = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];

/** The smallest round number that is at least `value`, for the top of a scale. It is at least 1. */
export function roundUp(value: number): number {
  if (!(value > 1)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return STEPS.map((step) => step * power).find((top) => top >= value * 0.999_999)!;
}

/** The height of a value above the floor of the chart. */
export const heightOf = (value: number, top: number): number => (Math.min(value, top) / top) * SIZE.plotHeight;

/** The place of a moment between two others. */
export const xOf = (atMs: number, fromMs: number, toMs: number): number => ((atMs - fromMs) / (toMs - fromMs)) * SIZE.width;

/** The place of a value at a moment. */
export const pointOf = (atMs: number, value: number, fromMs: number, toMs: number, top: number): Point => [
  xOf(atMs, fromMs, toMs),
  SIZE.plotHeight - heightOf(value, top),
];

const write = ([x, y]: Point) => `${x.toFixed(1)} ${y.toFixed(1)}`;

/** A line through the points. */
export const linePath = (points: readonly Point[]): string => points.map((point, n) => `${n ? "L" : "M"}${write(point)}`).join("");

/** The area between a line and the floor. */
export function areaPath(points: readonly Point[]): string {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return "";
  return `${linePath(points)}L${write([last[0], SIZE.plotHeight])}L${write([first[0], SIZE.plotHeight])}Z`;
}

/** The area between two lines. */
export const bandPath = (low: readonly Point[], high: readonly Point[]): string =>
  low.length ? `${linePath([...high, ...low.toReversed()])}Z` : "";

/** Splits items where two neighbours do not belong together. */
export function splitWhere<T>(items: readonly T[], isApart: (before: T, item: T) => boolean): T[][] {
  const parts: T[][] = [];
  items.forEach((item, n) => {
    if (n === 0 || isApart(items[n - 1]!, item)) parts.push([]);
    parts.at(-1)!.push(item);
  });
  return parts;
}
