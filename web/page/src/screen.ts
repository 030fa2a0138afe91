// What the page says for a state of the place, as texts. Pure: the same state and time give the same screen.

import type { PlaceState } from "../../client/src/types.js";
import type { PluralWords } from "../../client/src/words.js";
import { isFar, type PageFormat } from "./format.js";
import { nameScreen, waitNow, type Context, type ScreenName } from "./screen_name.js";

/** The buttons. */
export type Action = "claim" | "target" | "extend" | "undo" | "join" | "done" | "leave";

/** One screen. Empty texts are not shown. */
export interface Screen {
  readonly name: ScreenName;
  readonly headline: string;
  readonly detail: string;
  /** The large number, or the countdown to the opening. */
  readonly number: string;
  /** The number of visitors ahead, or `null`. */
  readonly aheadCount: number | null;
  /** What the number counts, and how many are behind. */
  readonly ahead: string;
  readonly behind: string;
  readonly range: string;
  readonly clock: string;
  readonly updated: string;
  readonly hint: string;
  readonly strip: string;
  readonly actions: readonly Action[];
  /** The words on the buttons that have several. */
  readonly joinText: string;
  readonly undoText: string;
  /** Whether the visitor is in line, so that a switch for the alert makes sense. */
  readonly isInLine: boolean;
}

/** A question, what the visitor should know, and the two answers. The first one is safe. */
export interface Question {
  readonly title: string;
  readonly cost: string;
  readonly no: string;
  readonly yes: string;
}

/** The screens of a visitor who keeps a place. */
const IN_LINE: readonly ScreenName[] = ["before", "waiting", "near", "paused", "shut"];
/** What these say comes first, or no account helps. */
const NO_CHANGE: readonly ScreenName[] = ["leaving", "finishing", "refused", "closed", "finished"];
/** A wait that is so short has no range. */
const MOMENT_SECONDS = 3;
/** The line does not move, although nobody has paused it. */
const FAULTS: readonly string[] = ["clock", "journal", "service"];

const ACTIONS: Partial<Record<ScreenName, readonly Action[]>> = {
  in: ["done"],
  ending: ["extend", "done"],
  leaving: ["undo"],
  finishing: ["undo"],
  left: ["join"],
  completed: ["join"],
  ended: ["join"],
  missed: ["join"],
  gone: ["join"],
  overlong: ["join"],
  evicted: ["join"],
  reset: ["join"],
  refused: ["join"],
};

/** Writes the screens in one language. */
export class ScreenWriter {
  readonly words: PluralWords;
  readonly format: PageFormat;

  constructor(words: PluralWords, format: PageFormat) {
    this.words = words;
    this.format = format;
  }

  /** The screen for a state. */
  write(state: PlaceState, context: Context): Screen {
    const { words } = this;
    const name = nameScreen(state, context);
    const isInLine = IN_LINE.includes(name);
    const joinKey = name === "missed" ? "back" : name === "refused" ? "retry" : "join";
    return {
      name,
      headline: this.#headline(name, state, context),
      detail: this.#detail(name, state, context),
      ...this.#numbers(name, state, context),
      ...this.#when(name, state, context),
      updated: isInLine && state.updatedAtMs ? this.#updated(state, context) : "",
      hint: isInLine ? this.#hint(name, state) : "",
      strip: this.#strip(state),
      actions: this.#actions(name, state, context),
      joinText: words.text(joinKey),
      undoText: words.text(name === "finishing" ? "resume" : "undo"),
      isInLine: isInLine && state.status === "waiting",
    };
  }

  /** What leaving costs. */
  writeQuestion(state: PlaceState, { behindCount }: { behindCount: number }): Question {
    const { words } = this;
    const no = words.text("stay");
    if (state.status === "active") {
      return { title: words.text("doneTitle"), cost: words.text("doneCost"), no, yes: words.text("doneNow") };
    }
    const { isDrawn, state: queueState } = state.queue;
    const key =
      state.status === "ready" ? "leaveCostTurn"
      : queueState === "scheduled" && isDrawn ? "leaveCostDraw"
      : behindCount > 0 ? "leaveCost"
      : "leaveCostHere";
    const cost = words.text(key, { n: this.format.count(behindCount) }, behindCount);
    return { title: words.text("leaveTitle"), cost, no, yes: words.text("leaveNow") };
  }

  /** Whose place counts, after a link of another account. `name` is what the link says of it. */
  writeAccountQuestion(state: PlaceState, screen: Screen, name: string): Question {
    const { words } = this;
    const position = state.status === "waiting" && state.ahead !== null && state.ahead + 1;
    // Nothing is known of a place that the login does not show.
    const known = state.status === "joining" ? "" : `${screen.headline}.`;
    const place = position ? words.text("accountPlace", { n: this.format.count(position) }) : known;
    const cost = [place, words.text("accountLead")].join(" ").trim();
    return { title: words.text("accountTitle"), cost, no: words.text("undo"), yes: this.writeOtherAccount(state, screen, name) };
  }

  /** The way to the other account, or an empty text. */
  writeOtherAccount({ otherAccount }: PlaceState, screen: Screen, name: string): string {
    const { words } = this;
    if (otherAccount === "none" || NO_CHANGE.includes(screen.name)) return "";
    if (otherAccount === "former") return words.text("accountBack");
    return words.text("accountGo", { n: name || words.text("accountOther") });
  }

  #headline(name: ScreenName, state: PlaceState, context: Context): string {
    const { words } = this;
    if (name === "before") return this.#opening(state, context);
    // A reason that has no words here is none.
    const reason = name === "finished" ? words.text(state.queue.finishReason) : "";
    return reason || words.text(name === "ending" ? "in" : name);
  }

  #opening({ queue }: PlaceState, { nowMs }: Context): string {
    return Number.isNaN(queue.opensAtMs) ? this.words.text("opensSoon") : this.#at("before", queue.opensAtMs - nowMs);
  }

  // A sentence with a time that is so many milliseconds from now. With a day, it is another one. Such times are announced
  // elsewhere, too, so they have their zone.
  #at(key: string, ms: number): string {
    const unixMs = Date.now() + ms;
    const { words, format } = this;
    return words.text(isFar(unixMs) ? `${key}Day` : key, { c: format.time(unixMs), d: format.day(unixMs) });
  }

  #detail(name: ScreenName, state: PlaceState, context: Context): string {
    const { words, format } = this;
    const { nowMs } = context;
    const leftMs = ((state as { endsAtMs?: number }).endsAtMs ?? NaN) - nowMs;
    const t = format.duration(leftMs);
    switch (name) {
      case "waiting":
        if (context.isBack) return words.text("backLead");
        return state.status === "waiting" && state.isCalled ? words.text("calledLead") : "";
      case "near":
        return words.text(context.isAsking ? "calledLead" : "nearLead");
      case "before":
        return words.text(state.queue.isDrawn ? "drawLead" : state.status === "waiting" ? "beforeLead" : "");
      case "turn":
        if (state.status === "ready" && !state.needsInput) return words.text("entering");
        return Number.isNaN(leftMs) ? words.text("turnPaused") : words.text("turnLead", { t });
      case "in":
      case "ending":
        if (context.isLooping) return words.text("loop");
        return [leftMs > 0 && words.text("inLead", { t }), context.isExtendRefused && words.text("extendRefused")].filter(Boolean).join(" ");
      case "leaving":
      case "finishing":
        return words.text(`${name}Lead`, { t: format.duration(context.undoUntilMs - nowMs) });
      case "closed": {
        const ms = state.queue.closesAtMs - nowMs;
        return ms < 0 ? this.#at("closedLead", ms) : words.text("closedPlain");
      }
      case "refused":
        return words.text(state.problem?.code ?? "") || words.text("refusedLead");
      default:
        return words.text(`${name}Lead`, { t });
    }
  }

  // A visitor whose turn is near is asked to stay.
  #hint(name: ScreenName, state: PlaceState): string {
    const isNear = name === "near" || (state.status === "waiting" && state.isCalled);
    return this.words.text(state.isUnstored ? "hintTab" : isNear ? "" : "hint");
  }

  #numbers(name: ScreenName, state: PlaceState, { nowMs }: Context): Pick<Screen, "number" | "aheadCount" | "ahead" | "behind"> {
    const { words, format } = this;
    const { waiting, opensAtMs } = state.queue;
    if (name === "before") {
      const number = Number.isNaN(opensAtMs) ? "" : format.left(opensAtMs - nowMs);
      return { number, aheadCount: null, ahead: "", behind: waiting > 0 ? words.text("here", { n: format.count(waiting) }, waiting) : "" };
    }
    const { ahead: aheadCount = null, isAheadExpected = false } = IN_LINE.includes(name) && state.status === "waiting" ? state : {};
    if (aheadCount === null) return { number: "", aheadCount: null, ahead: "", behind: "" };
    const behindCount = countBehind(state);
    return {
      number: (isAheadExpected ? "≈" : "") + format.count(aheadCount),
      aheadCount,
      ahead: words.text(aheadCount ? "ahead" : "next", {}, aheadCount),
      behind: behindCount > 0 ? words.text("behind", { n: format.count(behindCount) }) : "",
    };
  }

  #when(name: ScreenName, state: PlaceState, context: Context): Pick<Screen, "range" | "clock"> {
    const { words, format } = this;
    if (name !== "waiting" && name !== "near") return { range: "", clock: "" };
    const wait = waitNow(state, context);
    if (!wait) {
      const { limitedBy } = state.queue;
      if (limitedBy === "capacity") return { range: words.text("capacity"), clock: words.text("moves") };
      return { range: words.text(FAULTS.includes(limitedBy) ? "standstill" : "unknown"), clock: words.text("kept") };
    }
    if (wait.high <= MOMENT_SECONDS) return { range: words.text("moment"), clock: "" };
    const range = words.text("about", { r: format.range(wait.low, wait.high) });
    if (name === "near") return { range, clock: "" };
    const [a, b] = [wait.low, wait.high].map((seconds) => format.clock(Date.now() + seconds * 1_000)) as [string, string];
    return { range, clock: a === b ? "" : words.text("between", { a, b }) };
  }

  #updated(state: PlaceState, { nowMs }: Context): string {
    return this.words.text(isLost(state) ? "asOf" : "updated", { s: this.format.ago(nowMs - state.updatedAtMs) });
  }

  #strip(state: PlaceState): string {
    if (!isLost(state)) return "";
    return this.words.text(state.connection === "offline" ? "offline" : "lost");
  }

  #actions(name: ScreenName, state: PlaceState, { isLooping, isExtendRefused }: Context): readonly Action[] {
    if (name === "turn") return state.status === "ready" && state.needsInput ? ["claim", "leave"] : ["leave"];
    const own = ACTIONS[name] ?? (IN_LINE.includes(name) && state.status === "waiting" ? ["leave"] : []);
    if (isExtendRefused) return own.filter((action) => action !== "extend");
    // No pass is handed over before the visitor has said whose it is.
    const isUndecided = state.otherAccount === "new";
    return state.status === "active" && (isLooping || (isUndecided && state.targetUrl)) ? ["target", ...own] : own;
  }
}

/** Whether what is shown may be old. */
export function isLost({ status, connection, problem }: PlaceState): boolean {
  // A full queue has answered.
  return connection !== "online" && problem?.code !== "queue-full" && ["joining", "waiting", "ready", "active"].includes(status);
}

/** How many visitors are behind. 0 if that is not known. */
export function countBehind(state: PlaceState): number {
  return (state.status === "waiting" && state.behind) || 0;
}
