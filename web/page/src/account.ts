// A link of another account than that of the place. The page asks once in a visit; from then on a quiet button leads to the
// other account. Nothing of either place is lost, and without an answer the one that the visitor has goes on.

import { readClaims } from "../../client/src/accounts.js";
import type { PlaceState, WaitingState } from "../../client/src/vestibule.js";
import { ask, endQuestion, isAsking, writeQuestion, type Answers } from "./question.js";
import type { Screen, ScreenWriter } from "./screen.js";
import { readStored, writeStored } from "../../client/src/stored.js";
import { setText } from "./view.js";

const NAME_LENGTH_MAX = 40;

/** The account of the link, and what the page asks about it. */
export class LinkedAccount {
  /** What names it, if the link is of one. */
  readonly id: string | undefined;
  #name: string;
  #key: string;
  #isAsking = false;

  /** `text` is the ticket of the link or the token of the login. */
  constructor(text: string | undefined, queue: string) {
    const { sub, name } = readClaims(text);
    this.id = sub ? String(sub) : undefined;
    // The page has not verified the name: it stays short, on one line, and in its own direction.
    const shown = typeof name === "string" ? name.replace(/\p{C}/gu, "").trim() : "";
    this.#name = shown && `\u2068${[...shown].slice(0, NAME_LENGTH_MAX).join("")}\u2069`;
    this.#key = `vestibule:asked:${queue}`;
  }

  /**
   * Shows the way to the other account, and asks if the page has not asked in this visit before. `isUnknown`: the login
   * does not know the visitor, so whether the place is live cannot be known.
   */
  show(state: PlaceState, screen: Screen, writer: ScreenWriter, isUnknown: boolean, answers: Answers): void {
    setText("account", writer.writeOtherAccount(state, screen, this.#name));
    const isOpen = state.otherAccount === "new" && (isUnknown || ["waiting", "ready", "active"].includes(state.status));
    const question = writer.writeAccountQuestion(state, screen, this.#name);
    this.#isAsking &&= isAsking();
    if (this.#isAsking) return isOpen ? writeQuestion(question) : endQuestion();
    const { token = "", visit = 0 } = state as Partial<WaitingState>;
    const place = `${token} ${visit}`;
    if (!isOpen || isAsking() || readStored(this.#key) === place) return;
    writeStored(this.#key, place);
    this.#isAsking = true;
    ask(question, answers);
  }
}
