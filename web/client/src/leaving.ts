// Leaving asks first, and can be taken back: the request is sent only after a while. A place in line could not be had
// back from the server.

const UNDO_MS = 10_000;

/** The way out of the line or the session, after the visitor has said yes. */
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
  }

  /** The visitor leaves, and may take it back for a while. */
  depart(): void {
    this.undoUntilMs = performance.now() + UNDO_MS;
    this.#timer = setTimeout(this.finish, UNDO_MS);
    // A closed page cannot be taken back.
    addEventListener("pagehide", this.finish);
    this.#change();
  }

  /** The visitor stays, or the visit has ended by itself. */
  undo(): void {
    clearTimeout(this.#timer);
    removeEventListener("pagehide", this.finish);
    this.undoUntilMs = 0;
    this.#change();
  }

  /** Leaves now, if the visitor leaves. */
  finish = (): void => {
    if (!this.undoUntilMs) return;
    this.undo();
    this.#leave();
  };
}
