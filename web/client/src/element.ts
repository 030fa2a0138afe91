// An element that shows one visitor's place in a queue, for a page that exists:
//
//   <script type="module" src="element.js"></script>
//   <vestibule-line queue="demo:1" base="https://api.example/Prod"></vestibule-line>
//
// It fires `vestibule-state` with the new state as its `detail`. If the visitor is let in and the queue has a target, the
// element goes there with the pass, unless a listener prevents the default of the event. It speaks the language of the page
// around it, or else of the browser, from the file lang-TAG.js beside it.

import { ENGLISH, LOADERS, type ElementSentences } from "virtual:sentences";
import STYLE from "./element.css";
import { Format } from "./format.js";
import { HandOver } from "./hand_over.js";
import { Leaving } from "./leaving.js";
import { languageOfText } from "./message.js";
import { countdownText, headlineText, hintText, waitText } from "./texts.js";
import type { Place, PlaceState, QueueOptions, WaitingState } from "./types.js";
import { chooseMessage, joinQueue, openChannel } from "./vestibule.js";
import { Words, localeOf, matchLanguage } from "./words.js";

// A page may forbid text that is parsed as HTML (Trusted Types), so each part is created by itself. A part for which there is a
// sentence of its name says that.
function addPart(parent: Node, tag: string, part: string): HTMLElement {
  const element = document.createElement(tag);
  element.part.value = part;
  parent.appendChild(element);
  return element;
}

const ATTRIBUTES = ["queue", "base", "confirm", "return"];
const COUNTDOWN_MS = 250;
/** The visitor has a place. */
const IN_LINE: readonly PlaceState["status"][] = ["waiting", "ready", "active"];

/** The event of the element. */
export type VestibuleStateEvent = CustomEvent<PlaceState>;

/** Attributes and properties of the element, for the JSX of a framework. */
export interface VestibuleLineAttributes {
  queue: string;
  base?: string | undefined;
  confirm?: QueueOptions["confirm"];
  return?: string | undefined;
  options?: Partial<QueueOptions>;
  "onvestibule-state"?: (event: VestibuleStateEvent) => void;
}

declare global {
  interface HTMLElementTagNameMap {
    "vestibule-line": VestibuleLine;
  }
  // It bubbles, so a document and a window have it, too.
  interface GlobalEventHandlersEventMap {
    "vestibule-state": VestibuleStateEvent;
  }
}

/** `<vestibule-line queue base confirm return>`. */
export class VestibuleLine extends (globalThis.HTMLElement ?? Object) {
  static observedAttributes = ATTRIBUTES;
  /** Options in addition to the attributes, such as `headers`. Set them before the element is in the page. */
  options: Partial<QueueOptions> = {};
  /** The place, while the element is in the page. */
  place: Place | undefined;
  #root: ShadowRoot | undefined;
  #tabs: BroadcastChannel | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #sentences!: ElementSentences;
  #words!: Words;
  #format!: Format;
  // The visitor is, or was until the end, in a session.
  #isIn = false;
  #handOver = new HandOver();
  #leaving = new Leaving(
    () => void this.place?.leave(),
    () => this.#show(),
  );

  connectedCallback(): void {
    if (!this.#root) {
      this.#root = this.attachShadow({ mode: "open" });
      // The page may be in another language. The direction is that of the headline.
      const place = addPart(this.#root, "div", "place");
      place.dir = "auto";
      // A change of the first three is read out.
      const spoken = addPart(place, "div", "spoken");
      spoken.ariaLive = "polite";
      addPart(spoken, "h2", "headline");
      addPart(spoken, "p", "message").dir = "auto";
      addPart(spoken, "p", "hint");
      addPart(place, "p", "number");
      addPart(place, "p", "wait");
      addPart(place, "button", "claim").onclick = () => void this.place?.claim();
      addPart(place, "a", "target");
      addPart(place, "button", "keep").onclick = () => this.place?.keepAccount();
      addPart(place, "button", "account").onclick = () => this.place?.changeAccount();
      addPart(place, "button", "undo").onclick = () => {
        this.#leaving.undo();
        this.#take();
      };
      addPart(place, "button", "join").onclick = () => {
        this.#join();
        this.#tabs?.postMessage(0);
      };
      const dialog = addPart(place, "dialog", "dialog") as HTMLDialogElement;
      addPart(dialog, "h2", "question");
      addPart(dialog, "p", "cost");
      addPart(dialog, "button", "stay").onclick = () => dialog.close();
      addPart(dialog, "button", "confirm").onclick = () => {
        dialog.close();
        this.#leaving.depart();
        // The button that had the focus is hidden.
        this.#part("undo").focus();
      };
      addPart(place, "button", "leave").onclick = () => dialog.showModal();
      this.#speak("en", ENGLISH);
      void this.#loadLanguage();
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
      // A policy that forbids inline styles allows this.
      this.#root.adoptedStyleSheets = [sheet];
    }
    // To join again in one tab is for all tabs of the visitor.
    this.#tabs = openChannel(`vestibule:${this.getAttribute("queue")}`);
    if (this.#tabs) this.#tabs.onmessage = () => this.#part("join").hidden || this.#join();
    this.#timer = setInterval(() => this.#showTime(), COUNTDOWN_MS);
    this.#join();
  }

  disconnectedCallback(): void {
    clearInterval(this.#timer);
    this.#tabs?.close();
    this.#leaving.finish();
    this.#end();
  }

  attributeChangedCallback(): void {
    if (this.place) this.#join();
  }

  // The end is not shown.
  #end(): void {
    const { place } = this;
    this.place = undefined;
    place?.close();
  }

  #join(): void {
    this.#end();
    const attributes = Object.fromEntries(ATTRIBUTES.map((name) => [name, this.getAttribute(name) ?? ""]));
    const place = (this.place = joinQueue({ ...attributes, returnTo: attributes["return"], ...this.options } as QueueOptions));
    place.subscribe(() => place === this.place && this.#take());
    this.#take();
  }

  #show(): void {
    if (!this.place) return;
    const { state } = this.place;
    const { status, otherAccount, queue } = state;
    const isLeaving = this.#leaving.undoUntilMs > 0;
    const isHere = IN_LINE.includes(status);
    const isInLine = isHere && !isLeaving;
    const isSentBack = status === "active" && this.#handOver.isLooping && isInLine;
    const message = chooseMessage(queue, [this.#part("place").lang, ...navigator.languages]);
    const sentences = this.#sentences;
    this.#words = new Words({ ...sentences, ...(this.#isIn && sentences.session) });
    for (const part of this.#root!.querySelectorAll("[part]")) {
      const text = this.#words.text(part.part.value);
      if (text) part.textContent = text;
    }
    this.#part("dialog").ariaLabel = this.#words.text("question");
    this.#setText("headline", isLeaving ? this.#words.text("leaving") : headlineText(this.#words, state));
    this.#setText("message", message);
    this.#part("message").lang = languageOfText(queue, message);
    this.#setText("hint", isLeaving ? "" : isSentBack ? this.#words.text("loop") : hintText(this.#words, state));
    this.#showTime();
    const shown = {
      claim: isInLine && status === "ready" && state.needsInput,
      target: isSentBack,
      undo: isLeaving,
      leave: isInLine,
      keep: isInLine && otherAccount === "new",
      account: isInLine && otherAccount !== "none",
      join: !isHere && !["joining", "finished"].includes(status),
    };
    for (const [name, isShown] of Object.entries(shown)) this.#part(name).hidden = !isShown;
  }

  #take(): void {
    const { state } = this.place!;
    const { status } = state;
    if (status !== "left") this.#isIn = status === "active";
    // The visit has ended by itself.
    if (!IN_LINE.includes(status)) {
      (this.#part("dialog") as HTMLDialogElement).close();
      this.#leaving.undo();
    }
    this.#show();
    const event = new CustomEvent("vestibule-state", {
      detail: state,
      bubbles: true,
      composed: true,
      cancelable: true,
    });
    // No pass is handed over before the visitor has said whose it is.
    const isDecided = state.otherAccount !== "new" && !this.#leaving.undoUntilMs;
    if (!this.dispatchEvent(event) || status !== "active" || !state.targetUrl || !isDecided) return;
    (this.#part("target") as HTMLAnchorElement).href = state.targetUrl;
    this.#handOver.go(state.targetUrl, state.token);
    if (this.#handOver.isLooping) this.#show();
    else this.#end();
  }

  // English stays until the other language is there, and if it cannot be had.
  async #loadLanguage(): Promise<void> {
    const wanted = [this.closest<HTMLElement>("[lang]")?.lang ?? "", ...navigator.languages];
    const language = matchLanguage(wanted, ["en", ...Object.keys(LOADERS)]) ?? "en";
    const loaded = await LOADERS[language]?.().catch(() => undefined);
    if (loaded) this.#speak(language, loaded.default);
  }

  #speak(language: string, sentences: ElementSentences): void {
    this.#sentences = { ...ENGLISH, ...sentences };
    this.#format = new Format(localeOf(language));
    this.#part("place").lang = language;
    this.#show();
  }

  // The position in the whole line or the time that is left, and the wait. While the visitor leaves, the time to take it back.
  #showTime(): void {
    if (!this.place) return;
    const { state } = this.place;
    const { undoUntilMs } = this.#leaving;
    const { ahead = null, isAheadExpected }: Partial<WaitingState> = state.status === "waiting" ? state : {};
    const position = ahead !== null && (isAheadExpected ? "≈" : "") + this.#format.count(ahead + 1);
    // Every state has the fields of all.
    const endsAtMs = undoUntilMs || (state as { endsAtMs: number }).endsAtMs;
    const leftMs = endsAtMs - performance.now();
    const seconds = Math.ceil(leftMs / 1_000);
    this.#setText("number", undoUntilMs ? "" : position || countdownText(this.#format, leftMs));
    const t = this.#format.range(seconds, seconds);
    this.#setText("wait", undoUntilMs ? this.#words.text("leavingLead", { t }) : waitText(this.#words, this.#format, state));
  }

  #setText(name: string, text: string): void {
    const part = this.#part(name);
    part.hidden = text === "";
    if (part.textContent !== text) part.textContent = text;
  }

  #part(name: string): HTMLElement {
    return this.#root!.querySelector(`[part=${name}]`)!;
  }
}

globalThis.customElements?.define("vestibule-line", VestibuleLine);
