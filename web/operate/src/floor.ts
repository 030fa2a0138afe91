// The floor: who stands where, each count with the sentence that matters.

import { html, part, setText, svg } from "./dom.js";
import { floorSentences, paceWords, type Speech } from "./sentences.js";
import type { Detail } from "./types.js";

const COUNTS = ["waiting", "called", "present", "absent", "ready", "inside", "done"] as const;

function makeRoom(name: string): HTMLElement {
  const meter = name === "inside" && html("div", { class: "bar", role: "meter", "aria-valuemin": 0 }, html("i"));
  return html("div", { class: `room ${name}`, "data-count": name }, html("p"), html("strong"), meter, html("small"));
}

function makeFloor(floor: HTMLElement): void {
  const rooms = Object.fromEntries(COUNTS.map((name) => [name, makeRoom(name)]));
  const door = svg("svg", { viewBox: "0 0 44 60", "aria-hidden": "true" });
  door.append(svg("path", { class: "leaf", d: "M2 58V22a20 20 0 0 1 40 0v36Z" }), svg("path", { class: "lit", d: "M12 58V22a10 17 0 0 1 20 0v36Z" }));
  floor.append(
    rooms["waiting"]!,
    html("div", { class: "called-rooms" }, rooms["called"]!, rooms["present"]!, rooms["absent"]!),
    html("div", { class: "gate" }, door, html("small")),
    rooms["ready"]!,
    rooms["inside"]!,
    rooms["done"]!,
  );
}

/** Shows the counts of a queue. */
export function showFloor(detail: Detail, speech: Speech): void {
  const floor = part("floor");
  if (!floor.firstChild) makeFloor(floor);
  const { stats, settings } = detail;
  const { say, format } = speech;
  const sentences = floorSentences(detail, speech);
  const { waiting, called, present, absent, ready, active, capacity, totals } = stats;
  const counts: Record<string, number> = { waiting, called, present, absent, ready, inside: active, done: totals.completed };
  for (const name of COUNTS) {
    const room = floor.querySelector(`[data-count="${name}"]`)!;
    setText(room.querySelector("p")!, say(`count_${name}`));
    const number = room.querySelector("strong")!;
    const shown = format.count(counts[name]!);
    if (name === "inside") number.replaceChildren(shown, html("i", {}, ` / ${format.count(capacity)}`));
    else setText(number, shown);
    setText(room.querySelector("small")!, sentences[name]!);
  }
  const meter = floor.querySelector<HTMLElement>(".bar")!;
  meter.setAttribute("aria-label", say("count_inside"));
  meter.setAttribute("aria-valuemax", String(capacity));
  meter.setAttribute("aria-valuenow", String(Math.min(active, capacity)));
  meter.setAttribute("aria-valuetext", say("meter", { inside: format.count(active), capacity: format.count(capacity) }));
  const share = Math.min(1, active / Math.max(1, capacity));
  (meter.firstElementChild as HTMLElement).style.inlineSize = `${share * 100}%`;
  const gate = floor.querySelector<HTMLElement>(".gate")!;
  const isShut = ["paused", "scheduled", "closed", "finished"].includes(stats.state);
  gate.classList.toggle("shut", isShut);
  setText(gate.querySelector("small")!, isShut ? say(`gate_${stats.state}`) : paceWords(stats, settings, speech));
}
