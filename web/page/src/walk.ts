// The walk: a floor, dots for the other visitors, a larger one for the visitor, and a door at the end, which opens as the
// visitor comes nearer. The dots fill the floor and count nothing. All lengths are units of the drawing.

import { readStored, writeStored } from "../../client/src/stored.js";
import type { Screen } from "./screen.js";
import type { ScreenName } from "./screen_name.js";
import { part } from "./view.js";

const SVG = "http://www.w3.org/2000/svg";
// From this width of the window in pixels on, the floor crosses it. page.css has the same.
const WIDE_PX = 896;
// On a wide window: the heights of the drawing in pixels and in units, and the width of the text in pixels.
const WIDE_HEIGHT_PX = 152;
const WIDE_HEIGHT = 96;
const CONTENT_PX = 1_088;
const HEIGHT = 86;
const FLOOR_Y = 72;
const DOT_SPACING = 14;
const SLIT_MIN = 0.1;

/** Where the visitor is on the screens that have a walk and no position: 0 is the start, and 1 the door. */
const PROGRESS: Partial<Record<ScreenName, number>> = { before: 0.06, turn: 1, in: 1, ending: 1, finishing: 1, missed: 0.97, full: 0 };
/** The door is shut. */
const SHUT: readonly ScreenName[] = ["before", "paused", "shut", "full"];
const ARRIVED: readonly ScreenName[] = ["turn", "in", "ending", "finishing"];

/** The part of the way that is done, for a number of visitors ahead now and when the visitor came. */
export const progressOf = (ahead: number, aheadAtEntry: number): number =>
  Math.min(1, Math.max(0, 1 - ahead / Math.max(1, aheadAtEntry)));

/** Remembers how many visitors were ahead at first, so that a reload does not lead back to the start. */
export class Start {
  #key: string;

  constructor(queue: string) {
    this.#key = `vestibule:start:${queue}`;
  }

  /** The number of visitors ahead at first, for a number now. It never rises within a visit: a greater one is a new visit. */
  aheadAtEntry(token: string, ahead: number): number {
    const [storedToken, stored] = (readStored(this.#key) ?? "").split(" ");
    if (storedToken === token && Number(stored) >= ahead) return Number(stored);
    writeStored(this.#key, `${token} ${ahead}`);
    return ahead;
  }
}

/** The drawing. */
export class Walk {
  #progress = 0;
  #name: ScreenName = "joining";
  #drawn = "";

  constructor() {
    addEventListener("resize", () => this.#draw());
  }

  /** Shows the way for a screen. `aheadAtEntry` counts on screens with a position. */
  show({ name, aheadCount, ahead }: Screen, aheadAtEntry: number, label: string): void {
    const walk = part("walk");
    document.body.dataset["door"] = ARRIVED.includes(name) ? "open" : "";
    const progress = PROGRESS[name] ?? (aheadCount === null ? undefined : progressOf(aheadCount, aheadAtEntry));
    walk.hidden = progress === undefined;
    if (progress === undefined) return;
    this.#progress = progress;
    this.#name = name;
    const isOnTheWay = aheadCount !== null && !SHUT.includes(name);
    const open = SHUT.includes(name) ? 0 : isOnTheWay ? Math.max(SLIT_MIN, progress ** 3) : ARRIVED.includes(name) ? 1 : SLIT_MIN;
    walk.style.setProperty("--open", open.toFixed(3));
    walk.ariaLabel = label;
    walk.ariaValueNow = String(Math.round(progress * 100));
    walk.ariaValueText = aheadCount === null ? null : `${aheadCount ? part("number").textContent : ""} ${ahead}`.trim();
    this.#draw();
  }

  #draw(): void {
    const isWide = innerWidth >= WIDE_PX;
    const key = [this.#name, this.#progress, innerWidth].join();
    if (key === this.#drawn) return;
    this.#drawn = key;
    const isArrived = ARRIVED.includes(this.#name);
    const isAcross = isWide && !isArrived;
    const width = isArrived ? (isWide ? 130 : 220) : isWide ? Math.round((innerWidth / WIDE_HEIGHT_PX) * WIDE_HEIGHT) : 360;
    const edge = isAcross ? Math.max(24, (width - (CONTENT_PX / WIDE_HEIGHT_PX) * WIDE_HEIGHT) / 2 + 8) : 12;
    const door = isArrived ? width / 2 : width - edge - 20;
    const x = isArrived ? door : edge + this.#progress * (door - 44 - edge);
    part("scene").setAttribute("viewBox", `0 0 ${width} ${isAcross ? WIDE_HEIGHT : HEIGHT}`);
    part("floor").setAttribute("d", `M0 ${FLOOR_Y}H${width}`);
    part("portal").setAttribute("transform", `translate(${door} 0)`);
    part("you").style.transform = `translateX(${x}px)`;
    part("you").toggleAttribute("hidden", this.#name === "full");
    part("people").replaceChildren(...(isArrived ? [] : drawDots(edge, door - 38, this.#name === "full" ? 0 : x)));
  }
}

// Those behind `x` are pale, those ahead dark, and the visitor's own dot has room.
function drawDots(from: number, to: number, x: number): SVGElement[] {
  const dots: SVGElement[] = [];
  for (let at = from; at <= to; at += DOT_SPACING) {
    if (Math.abs(at - x) <= DOT_SPACING - 1) continue;
    const dot = document.createElementNS(SVG, "circle");
    const isAhead = at > x;
    dot.classList.add(isAhead ? "dark" : "pale");
    for (const [name, value] of [["cx", at], ["cy", 67.5], ["r", isAhead ? 4 : 3.5]]) dot.setAttribute(String(name), String(value));
    dots.push(dot);
  }
  return dots;
}
