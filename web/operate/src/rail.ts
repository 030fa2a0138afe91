// The rail: all queues, and the health of the parts.

import { html, part, setText, showText, svg, updateList } from "./dom.js";
import { FILTERS, RailOrder, isOfFilter, type Filter, type QueueItem } from "./rail_order.js";
import { SIZE, linePath, roundUp, type Point } from "./scales.js";
import { healthLines, stateWord, type Speech } from "./sentences.js";
import type { Overview } from "./types.js";

// After the operator has touched the list, its order stays for so long.
const IN_USE_MS = 10_000;
const USES = ["pointermove", "pointerdown", "wheel", "scroll", "keydown", "focusin"] as const;

/** The address of a queue in the console. */
export const addressOf = (queue: string): string => `#${encodeURIComponent(queue)}`;

/** Which queues are chosen for an order to several. */
export interface Choice {
  readonly isOn: boolean;
  has(queue: string): boolean;
  toggle(queue: string, isChosen: boolean): void;
}

function sparkline(waiting: readonly number[]): string {
  const top = roundUp(Math.max(...waiting) * 1.1);
  const step = SIZE.width / Math.max(1, waiting.length - 1);
  return linePath(waiting.map((value, n): Point => [n * step, SIZE.plotHeight - (value / top) * SIZE.plotHeight]));
}

/** The list of queues with its search and its filter. */
export class Rail {
  readonly #list = part("queues");
  readonly #filter = part<HTMLSelectElement>("filter");
  readonly #order = new RailOrder();
  #shown: readonly QueueItem[] = [];
  #usedAtMs = -Infinity;

  /** `change` is called when the operator filters. */
  constructor(
    private readonly choice: Choice,
    change: () => void,
  ) {
    for (const use of USES) this.#list.addEventListener(use, () => (this.#usedAtMs = performance.now()), { passive: true });
    this.#list.addEventListener("keydown", (event) => this.#press(event));
    this.#filter.append(...FILTERS.map((value) => html("option", { value })));
    this.#filter.addEventListener("change", change);
    part("find-text").addEventListener("input", change);
  }

  /** The names of the queues in the order in which they are shown. */
  get shown(): readonly string[] {
    return this.#shown.map(({ queue }) => queue);
  }

  /** Shows the queues that match the search and the filter, and the health. */
  show({ queues, health, deployment }: Overview, selected: string, search: string, speech: Speech): void {
    const { say } = speech;
    this.#showFilter(queues, speech);
    const nowMs = performance.now();
    const arranged = this.#order.arrange(queues, nowMs, nowMs - this.#usedAtMs < IN_USE_MS);
    const filtered = arranged.filter((item) => isOfFilter(item, this.#filter.value as Filter));
    const wanted = search.trim().toLowerCase();
    const hits = filtered.filter(({ queue }) => queue.toLowerCase().includes(wanted));
    // A search for a visitor hides no queue.
    this.#shown = hits.length ? hits : filtered;
    const focused = document.activeElement;
    updateList(this.#list, this.#shown, ({ queue }) => queue, (item) => this.#makeQueue(item), (element, item) => this.#update(element, item, selected, speech));
    // An element that moves loses the focus.
    if (focused instanceof HTMLElement && this.#list.contains(focused)) focused.focus({ preventScroll: true });
    this.#list.classList.toggle("choosing", this.choice.isOn);
    showText(part("no-queues"), queues.length === 0 ? say("no_queues") : filtered.length === 0 ? say("no_queues_of_state") : "");
    const place = deployment.region ? `${deployment.name} · ${deployment.region}` : deployment.kind === "local" ? say("local") : deployment.name;
    setText(part("deployment"), place);
    const isBusy = queues.some(({ row }) => row.state === "open" && (row.waiting ?? 0) > 0);
    showHealth(healthLines(health, { isMeasured: deployment.kind === "local", isBusy }, speech));
  }

  #showFilter(queues: readonly QueueItem[], { say, format }: Speech): void {
    for (const option of this.#filter.options) {
      const count = queues.filter((item) => isOfFilter(item, option.value as Filter)).length;
      setText(option, say("filter_option", { state: say(option.value === "all" || option.value === "look" ? `filter_${option.value}` : `state_${option.value}`), count: format.count(count) }));
    }
  }

  #makeQueue({ queue }: QueueItem): HTMLElement {
    const line = svg("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.plotHeight}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    line.append(svg("path", { class: "line", "vector-effect": "non-scaling-stroke" }));
    const link = html("a", { href: addressOf(queue) }, html("b", {}, queue), html("b", { class: "count" }), html("small", { class: "state" }), html("small", { class: "unit" }));
    link.append(line);
    const box = html("input", { type: "checkbox" });
    box.addEventListener("change", () => this.choice.toggle(queue, box.checked));
    return html("li", {}, html("label", { class: "choose" }, box), link);
  }

  #update(item: HTMLElement, { queue, row, waiting }: QueueItem, selected: string, speech: Speech): void {
    const { say, format } = speech;
    const link = item.querySelector("a")!;
    link.toggleAttribute("aria-current", queue === selected);
    if (queue === selected) link.setAttribute("aria-current", "page");
    const { text, tone } = stateWord(row, speech);
    setText(link.querySelector(".count")!, row.waiting === undefined ? "–" : format.count(row.waiting));
    setText(link.querySelector(".state")!, text);
    link.querySelector<HTMLElement>(".state")!.dataset["tone"] = tone;
    setText(link.querySelector(".unit")!, row.waiting === undefined ? "" : say("waiting_unit"));
    link.querySelector("svg")!.toggleAttribute("hidden", waiting.length < 2);
    link.querySelector("path")!.setAttribute("d", waiting.length > 1 ? sparkline(waiting) : "");
    const box = item.querySelector("input")!;
    box.parentElement!.hidden = !this.choice.isOn;
    box.checked = this.choice.has(queue);
    box.setAttribute("aria-label", say("choose_queue", { queue }));
  }

  // The arrow keys move in the list, and Home and End to its ends.
  #press(event: KeyboardEvent): void {
    const links = [...this.#list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement as HTMLAnchorElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    links[next]?.focus();
  }
}

function showHealth(lines: ReturnType<typeof healthLines>): void {
  const keyed = lines.map((line, n) => ({ ...line, key: String(n) }));
  updateList(part("health"), keyed, ({ key }) => key, () => html("li"), (item, { text, isWell }) => {
    setText(item, isWell ? text : `⚠ ${text}`);
    item.className = isWell ? "ok" : "failed";
  });
}
