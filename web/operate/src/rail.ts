// The rail: all queues, and the health of the parts.

import { html, part, setText, showText, svg, updateList } from "./dom.js";
import { SIZE, linePath, roundUp, type Point } from "./scales.js";
import { healthLines, stateWord, type Speech } from "./sentences.js";
import type { Overview } from "./types.js";

type Queue = Overview["queues"][number];

/** The address of a queue in the console. */
export const addressOf = (queue: string): string => `#${encodeURIComponent(queue)}`;

function sparkline(waiting: readonly number[]): string {
  const top = roundUp(Math.max(...waiting) * 1.1);
  const step = SIZE.width / Math.max(1, waiting.length - 1);
  return linePath(waiting.map((value, n): Point => [n * step, SIZE.plotHeight - (value / top) * SIZE.plotHeight]));
}

function makeQueue({ queue }: Queue): HTMLElement {
  const line = svg("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.plotHeight}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  line.append(svg("path", { class: "line", "vector-effect": "non-scaling-stroke" }));
  const link = html("a", { href: addressOf(queue) }, html("b", {}, queue), html("b", { class: "count" }), html("small", { class: "state" }), html("small", { class: "unit" }));
  link.append(line);
  return html("li", {}, link);
}

/** Shows the queues that match the search, and the health. */
export function showRail({ queues, health, deployment }: Overview, selected: string, search: string, speech: Speech): void {
  const { say, format } = speech;
  const wanted = search.trim().toLowerCase();
  const hits = queues.filter(({ queue }) => queue.toLowerCase().includes(wanted));
  // A search for a visitor hides no queue.
  const shown = hits.length ? hits : queues;
  updateList(part("queues"), shown, ({ queue }) => queue, makeQueue, (item, { queue, row, waiting }) => {
    const link = item.firstElementChild!;
    link.toggleAttribute("aria-current", queue === selected);
    if (queue === selected) link.setAttribute("aria-current", "page");
    const { text, tone } = stateWord(row, speech);
    setText(link.querySelector(".count")!, row.waiting === undefined ? "–" : format.count(row.waiting));
    setText(link.querySelector(".state")!, text);
    link.querySelector<HTMLElement>(".state")!.dataset["tone"] = tone;
    setText(link.querySelector(".unit")!, say("waiting_unit"));
    link.querySelector("path")!.setAttribute("d", waiting.length > 1 ? sparkline(waiting) : "");
  });
  showText(part("no-queues"), queues.length ? "" : say("no_queues"));
  const place = deployment.region ? `${deployment.name} · ${deployment.region}` : deployment.kind === "local" ? say("local") : deployment.name;
  setText(part("deployment"), place);
  const isBusy = queues.some(({ row }) => row.state === "open" && (row.waiting ?? 0) > 0);
  const lines = healthLines(health, { isMeasured: deployment.kind === "local", isBusy }, speech).map((line, n) => ({ ...line, key: String(n) }));
  updateList(part("health"), lines, ({ key }) => key, () => html("li"), (item, { text, isWell }) => {
    setText(item, isWell ? text : `⚠ ${text}`);
    item.className = isWell ? "ok" : "failed";
  });
}
