// Whether the visitor attends to the page, so that a turn may be claimed without a question. No session may start while
// the visitor is away, because its time would run out unused.

/** Input of the visitor counts for so long, in milliseconds. */
const INPUT_MS = 60_000;

/** What is known of the visitor's attention. It is as pure as the follower. */
export class Attendance {
  /** Whether the visitor sees the page. */
  isPageVisible = true;
  /** Whether the turn may be claimed now. */
  isConfirmed = false;
  #isAutomatic: boolean;
  #inputAtMs = -Infinity;

  /** `isAutomatic`: input of the visitor confirms a turn. Otherwise only the caller does. */
  constructor(isAutomatic: boolean) {
    this.#isAutomatic = isAutomatic;
  }

  /** The page was shown or hidden. That is no input: a browser also shows pages whose visitor is away. */
  changeVisibility(isVisible: boolean, nowMs: number): void {
    this.isPageVisible = isVisible;
    this.isConfirmed = isVisible && (this.isConfirmed || this.#isAttended(nowMs));
  }

  /** The visitor has moved, typed or touched. `Infinity` counts for ever. */
  addInput(nowMs: number): void {
    this.#inputAtMs = Math.max(this.#inputAtMs, nowMs);
    if (this.#isAutomatic && this.isPageVisible) this.isConfirmed = true;
  }

  /** The turn has come. Earlier input confirms it only if it is recent. */
  startTurn(nowMs: number): void {
    this.isConfirmed = this.#isAttended(nowMs);
  }

  #isAttended(nowMs: number): boolean {
    return this.#isAutomatic && this.isPageVisible && nowMs - this.#inputAtMs <= INPUT_MS;
  }
}
