// Leaving asks first, and can be taken back: the request is sent only after a while. A place in line could not be had
// back from the server.

import { ask, endQuestion, type Question } from "./question.js";
import { part } from "./view.js";

const UNDO_MS = 10_000;

/** The way out of the line or the session. */
export class Leaving {
  /** Until when the visitor may take it back, as a reading of `performance.now()`, or 0. */
  undoUntilMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #leave: () => void;
  #change: () => void;

  /** `leave` sends the request. `change` is called when the visitor leaves or stays. */
  constructor(leave: () => void, change: () => void) {
    this.#leave = leave;
    this.#change = change;
    part("undo").addEventListener("click", () => this.undo());
    // A closed page cannot be taken back.
    addEventListener("pagehide", () => this.undoUntilMs && this.#finish());
  }

  /** Asks the visitor, in these words. */
  ask(question: Question): void {
    ask(question, { yes: () => this.#start() });
  }

  /** The visitor stays, or the visit has ended by itself. */
  undo(): void {
    clearTimeout(this.#timer);
    endQuestion();
    this.undoUntilMs = 0;
    this.#change();
  }

  #start(): void {
    this.undoUntilMs = performance.now() + UNDO_MS;
    this.#timer = setTimeout(() => this.#finish(), UNDO_MS);
    this.#change();
  }

  #finish(): void {
    this.undo();
    this.#leave();
  }
}
