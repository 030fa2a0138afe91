// The pace desk: batch, interval and capacity, with the consequence before the order is given.

import { button, html, part, setText, type Child } from "./dom.js";
import { findConsequence, type Pace } from "./pace.js";
import type { Values } from "./orders.js";
import { estimatedSeconds, type Speech } from "./sentences.js";
import type { Detail, Settings } from "./types.js";
import type { QueueStats } from "./wire.js";

const NAMES = ["batch", "interval_seconds", "capacity"] as const;
const MAXIMA = { batch: 1_000_000, interval_seconds: 3_600, capacity: 10_000_000 } as const;

/** The consequence in words: sentences, and a warning that may be empty. */
export function consequenceWords(detail: Detail, settings: Settings, proposed: Pace, { say, format }: Speech): { text: string; warning: string } {
  const { stats, now_ms: nowMs } = detail;
  const current = { batch: settings.batch, intervalSeconds: settings.interval_seconds, capacity: settings.capacity };
  const line = { nowMs, waiting: stats.waiting, sessionSeconds: settings.session_seconds, estimatedSeconds: estimatedSeconds(stats) };
  const found = findConsequence(current, proposed, line);
  const when = (atMs: number | null) => (atMs === null ? "–" : format.when(atMs, nowMs));
  const [after, before] = [when(found.lastAfterMs), when(found.lastBeforeMs)];
  const join = (sentences: string[]) => sentences.filter(Boolean).join(" ");
  const rates = { after: format.rate(found.after), before: format.rate(found.before) };
  const rooms = { after: format.count(proposed.capacity), before: format.count(current.capacity) };
  const text = join([
    say(rates.after === rates.before ? "consequence_rate_same" : "consequence_rate", rates),
    proposed.capacity === current.capacity ? "" : say("consequence_inside", rooms),
    found.lastAfterMs === null ? "" : say(after === before ? "consequence_last_same" : "consequence_last", { after, before }),
    say("consequence_slots", { session: format.span(settings.session_seconds * 1_000), slots: format.count(found.slotsNeeded) }),
    found.isHeld ? "" : say("holds_not"),
  ]);
  const warning = join([
    found.isHeld ? say("holds", { capacity: rooms.after, rate: format.rate(found.paceAfter) }) : "",
    settings.adaptive ? say("adaptive_note") : "",
    noneLetIn(stats, proposed, { say, format }),
  ]);
  return { text, warning };
}

// Why no visitor can be let in now, whatever the pace; empty if some can.
function noneLetIn({ state, limited_by, active, ready, held }: QueueStats, { capacity }: Pace, { say, format }: Speech): string {
  const taken = active + ready + held;
  if (state !== "open" && state !== "draining") return say("none_let_in_because", { reason: say(`because_${state}`) });
  if (limited_by && ["service", "clock", "journal"].includes(limited_by)) return say("none_let_in_because", { reason: say(`limit_${limited_by}`) });
  return taken >= capacity ? say("none_let_in_until", { taken: format.count(taken), capacity: format.count(capacity) }) : "";
}

/** How long visitors stay inside, beside the time that they may; empty before a session has ended. */
export function stayWords({ stats, settings }: Pick<Detail, "stats" | "settings">, { say, format }: Speech): string {
  const { count = 0, sum_ms: sumMs = 0, p50_ms: halfMs, p90_ms: mostMs } = stats.stays ?? {};
  if (!count || !settings) return "";
  const spans = { half: format.span(halfMs ?? 0), most: format.span(mostMs ?? 0), mean: format.span(sumMs / count) };
  return say("stays", { ...spans, n: format.count(count), session: format.span(settings.session_seconds * 1_000) });
}

/** The form of one queue. It keeps what the operator types while new numbers arrive. */
export class PaceDesk {
  readonly #form = part<HTMLFormElement>("pace");
  readonly #inputs: Record<(typeof NAMES)[number], HTMLInputElement>;
  readonly #range = html("input", { type: "range", min: 1, "data-part": "batch-range" });
  readonly #text = html("span");
  readonly #warning = html("em");
  readonly #what = html("p", { class: "what", "aria-live": "polite", "data-part": "consequence" }, this.#text, " ", this.#warning);
  readonly #stays = html("p", { "data-part": "stays" });
  readonly #set: HTMLButtonElement;
  readonly #discard: HTMLButtonElement;
  #queue = "";
  #detail: Detail | undefined;

  /** `ask` gets the settings that change and the consequence. */
  constructor(
    private readonly speech: Speech,
    private readonly ask: (values: Values, consequence: string) => void,
  ) {
    const { say } = speech;
    const input = (name: (typeof NAMES)[number]) => html("input", { type: "number", min: 1, max: MAXIMA[name], name, required: true });
    this.#inputs = { batch: input("batch"), interval_seconds: input("interval_seconds"), capacity: input("capacity") };
    this.#set = html("button", { class: "strong", "data-part": "set-pace" }, say("set_pace"));
    this.#discard = button(say("discard"), () => this.#reset());
    this.#range.setAttribute("aria-label", say("field_batch"));
    const row = (name: (typeof NAMES)[number], unit: Child) => html("label", {}, html("span", {}, say(`field_${name}`)), this.#inputs[name], html("small", {}, unit as string));
    this.#form.replaceChildren(
      html("h3", {}, say("pace")),
      row("batch", say("unit_batch")),
      this.#range,
      row("interval_seconds", say("unit_interval")),
      row("capacity", say("unit_capacity")),
      this.#what,
      this.#stays,
      html("p", { class: "buttons" }, this.#set, this.#discard),
    );
    this.#range.oninput = () => {
      this.#inputs.batch.value = this.#range.value;
      this.#update();
    };
    this.#form.oninput = () => this.#update();
    this.#form.onsubmit = (event) => {
      event.preventDefault();
      if (!this.#set.disabled) this.ask(this.#changes, this.#what.textContent ?? "");
    };
  }

  /** Shows the pace of a queue, unless the operator has begun to change it. */
  show(detail: Detail): void {
    const before = this.#detail?.settings;
    const isUntouched = this.#queue !== detail.queue || !before || Object.keys(this.#changesFrom(before)).length === 0;
    this.#detail = detail;
    this.#form.hidden = !detail.settings;
    setText(this.#stays, stayWords(detail, this.speech));
    if (isUntouched) this.#reset();
    else this.#update();
    this.#queue = detail.queue;
  }

  #reset(): void {
    const settings = this.#detail?.settings;
    if (!settings) return;
    for (const name of NAMES) if (this.#inputs[name].value !== String(settings[name])) this.#inputs[name].value = String(settings[name]);
    this.#range.max = String(Math.max(10, settings.batch * 3));
    this.#update();
  }

  #changesFrom(settings: Settings): Values {
    return Object.fromEntries(NAMES.filter((name) => this.#inputs[name].value !== String(settings[name])).map((name) => [name, this.#inputs[name].value]));
  }

  get #changes(): Values {
    return this.#detail?.settings ? this.#changesFrom(this.#detail.settings) : {};
  }

  #update(): void {
    const settings = this.#detail?.settings;
    if (!this.#detail || !settings) return;
    const { say } = this.speech;
    const { batch, interval_seconds, capacity } = this.#inputs;
    this.#range.value = batch.value;
    const isValid = NAMES.every((name) => this.#inputs[name].validity.valid);
    const isChanged = Object.keys(this.#changes).length > 0;
    this.#set.disabled = !isValid || !isChanged;
    this.#discard.disabled = !isChanged;
    const proposed = { batch: batch.valueAsNumber, intervalSeconds: interval_seconds.valueAsNumber, capacity: capacity.valueAsNumber };
    const words = isValid && isChanged ? consequenceWords(this.#detail, settings, proposed, this.speech) : { text: say(isValid ? "pace_unchanged" : "pace_invalid"), warning: "" };
    setText(this.#text, words.text);
    setText(this.#warning, words.warning);
  }
}
