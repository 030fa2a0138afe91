// The charts of the last 30 minutes, each with a table of its numbers.

import { waitsWords } from "./advice.js";
import { html, part, setText, svg, type Child } from "./dom.js";
import { MINUTES, compareWaits, countPerMinute, recentSamples } from "./samples.js";
import { SIZE, areaPath, bandPath, heightOf, linePath, pointOf, roundUp, splitWhere, xOf } from "./scales.js";
import type { Speech } from "./sentences.js";
import type { Detail } from "./types.js";

const SPAN_MS = MINUTES * 60_000;
const GAP_MS = 60_000;
// A table of a chart has a row for so many minutes.
const ROW_MINUTES = 5;

interface Drawing {
  readonly heading: string;
  readonly summary: string;
  readonly marks: readonly Child[];
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

function makeFigure(name: string): HTMLElement {
  const picture = svg("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img" });
  const table = html("details", {}, html("summary"), html("table", {}, html("thead"), html("tbody")));
  return html("figure", { "data-chart": name }, html("figcaption"), picture, table);
}

function show(name: string, drawing: Drawing, { nowMs, top }: { nowMs: number; top: number }, { say, format }: Speech): void {
  const charts = part("charts");
  const figure = charts.querySelector<HTMLElement>(`[data-chart="${name}"]`) ?? makeFigure(name);
  if (!figure.isConnected) charts.append(figure);
  setText(figure.querySelector("figcaption")!, drawing.heading);
  const picture = figure.querySelector("svg")!;
  picture.setAttribute("aria-label", drawing.summary);
  const grid = [0, SIZE.plotHeight / 2, SIZE.plotHeight].map((y) => svg("path", { class: "grid", d: `M0 ${y}H${SIZE.width}` }));
  const times = [nowMs - SPAN_MS, nowMs - SPAN_MS / 2, nowMs].map((atMs, n) =>
    svg("text", { x: [0, SIZE.width / 2, SIZE.width][n], y: SIZE.height - 3, "text-anchor": ["start", "middle", "end"][n] }, format.time(atMs)),
  );
  const scale = svg("text", { x: 0, y: 9 }, name === "waits" ? format.span(top * 1_000) : format.count(top));
  picture.replaceChildren(...grid, ...drawing.marks.filter((mark) => mark instanceof Node), scale, ...times);
  const table = figure.querySelector("details")!;
  setText(table.querySelector("summary")!, say("as_table"));
  const row = (cells: readonly string[], tag: "th" | "td") =>
    html("tr", {}, ...cells.map((cell, n) => html(n === 0 ? "th" : tag, n === 0 && tag === "td" ? { scope: "row" } : tag === "th" ? { scope: "col" } : {}, cell)));
  table.querySelector("thead")!.replaceChildren(row(drawing.columns, "th"));
  table.querySelector("tbody")!.replaceChildren(...drawing.rows.map((cells) => row(cells, "td")));
}

function showWaiting({ stats, samples, now_ms: nowMs }: Detail, speech: Speech): void {
  const { say, format } = speech;
  const known = recentSamples(samples, nowMs).filter(({ waiting }) => waiting !== null);
  const highest = Math.max(0, ...known.map(({ waiting }) => waiting!));
  const top = roundUp(highest * 1.05);
  const lines = splitWhere(known, (before, sample) => sample.at_ms - before.at_ms > GAP_MS).map((part) =>
    part.map(({ at_ms, waiting }) => pointOf(at_ms, waiting!, nowMs - SPAN_MS, nowMs, top)),
  );
  const everyRow = known.filter(({ at_ms }, n) => n === 0 || Math.floor(at_ms / (ROW_MINUTES * 60_000)) !== Math.floor(known[n - 1]!.at_ms / (ROW_MINUTES * 60_000)));
  const values = { now: format.count(stats.waiting), highest: format.count(highest), first: format.count(known[0]?.waiting ?? stats.waiting) };
  show(
    "waiting",
    {
      heading: say("chart_waiting", values),
      summary: say("chart_waiting_summary", values),
      marks: lines.flatMap((points) => [svg("path", { class: "area", d: areaPath(points) }), svg("path", { class: "line", d: linePath(points) })]),
      columns: [say("column_time"), say("count_waiting")],
      rows: everyRow.map(({ at_ms, waiting }) => [format.time(at_ms), format.count(waiting!)]),
    },
    { nowMs, top },
    speech,
  );
}

function showRate({ samples, now_ms: nowMs }: Detail, speech: Speech): void {
  const { say, format } = speech;
  const columns = countPerMinute(samples, nowMs);
  const highest = Math.max(1, ...columns.map(({ count, pace }) => Math.max(count ?? 0, pace ?? 0)));
  const top = roundUp(highest * 1.1);
  const width = SIZE.width / MINUTES;
  const bars = columns.flatMap(({ count, wasPaused }, n) => [
    wasPaused && svg("rect", { class: "still", x: n * width, y: 0, width, height: SIZE.plotHeight }),
    count ? svg("rect", { class: "col", x: n * width + 1, y: SIZE.plotHeight - heightOf(count, top), width: width - 2.5, height: heightOf(count, top), rx: 1.5 }) : null,
  ]);
  const paces = splitWhere(columns.map((column, n) => ({ ...column, n })).filter(({ pace }) => pace !== null), (a, b) => b.n - a.n > 1);
  const limits = paces.map((part) => {
    const points = part.flatMap(({ pace, n }) => [n * width, (n + 1) * width].map((x) => [x, SIZE.plotHeight - heightOf(pace!, top)] as const));
    return svg("path", { class: "limit", d: linePath(points) });
  });
  const last = columns.at(-1)!;
  const values = {
    count: last.count === null ? "–" : format.count(last.count),
    pace: last.pace === null ? "–" : format.rate(last.pace),
    paused: format.count(columns.filter(({ wasPaused }) => wasPaused).length),
  };
  const summary = say(columns.some(({ wasPaused }) => wasPaused) ? "chart_rate_paused" : "chart_rate_summary", values);
  const cell = (value: number | null) => (value === null ? "–" : format.rate(value));
  show(
    "rate",
    {
      heading: say("chart_rate", values),
      summary,
      marks: [...bars, ...limits],
      columns: [say("column_time"), say("column_let_in"), say("column_pace"), say("column_state")],
      rows: columns.filter(({ count }) => count !== null).map(({ endMs, count, pace, wasPaused }) => [format.time(endMs), cell(count), cell(pace), wasPaused ? say("state_paused") : "–"]),
    },
    { nowMs, top },
    speech,
  );
}

function showWaits({ samples, now_ms: nowMs }: Detail, speech: Speech): void {
  const { say, format } = speech;
  const points = compareWaits(samples).filter(({ atMs }) => atMs > nowMs - SPAN_MS && atMs <= nowMs);
  const top = roundUp(Math.max(1, ...points.map(({ had, told }) => Math.max(had, told?.high ?? 0))) * 1.05);
  const at = (atMs: number, seconds: number) => pointOf(atMs, seconds, nowMs - SPAN_MS, nowMs, top);
  const isApart = (before: { atMs: number }, point: { atMs: number }) => xOf(point.atMs, before.atMs, before.atMs + GAP_MS * 2) > SIZE.width;
  const lines = splitWhere(points, isApart).map((part) => svg("path", { class: "line", d: linePath(part.map(({ atMs, had }) => at(atMs, had))) }));
  const told = splitWhere(points.filter((point) => point.told), isApart).map((part) =>
    svg("path", { class: "band", d: bandPath(part.map(({ atMs, told }) => at(atMs, told!.low)), part.map(({ atMs, told }) => at(atMs, told!.high))) }),
  );
  const { key: words, values } = waitsWords(points, speech);
  const span = (seconds: number) => format.span(seconds * 1_000);
  const step = Math.max(1, Math.ceil(points.length / (MINUTES / ROW_MINUTES + 2)));
  show(
    "waits",
    {
      heading: say(words, values),
      summary: say(words === "chart_waits_unknown" ? "chart_waits_unknown_summary" : "chart_waits_summary", values),
      marks: [...told, ...lines],
      columns: [say("column_time"), say("column_told"), say("column_had")],
      rows: points.filter((_, n) => n % step === 0).map(({ atMs, told, had }) => [format.time(atMs), told ? `${span(told.low)} – ${span(told.high)}` : "–", span(had)]),
    },
    { nowMs, top },
    speech,
  );
}

/** Shows the three charts of a queue. */
export function showCharts(detail: Detail, speech: Speech): void {
  showWaiting(detail, speech);
  showRate(detail, speech);
  showWaits(detail, speech);
}
