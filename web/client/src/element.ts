// An element that shows one visitor's place in a queue, for a page that exists:
//
//   <script type="module" src="element.js"></script>
//   <vestibule-line queue="demo:1" base="https://api.example/Prod"></vestibule-line>
//
// It fires `vestibule-state` with the new state as its `detail`. If the visitor is let in and the queue has a target, the
// element goes there with the pass, unless a listener prevents the default of the event. It speaks the language of the page
// around it, or else of the browser, from the file lang-TAG.js beside it.

import { ENGLISH, LOADERS } from "virtual:sentences";
import { Format } from "./format.js";
import { languageOfText } from "./message.js";
import { countdownText, headlineText, hintText, waitText } from "./texts.js";
import type { Place, PlaceState, QueueOptions } from "./types.js";
import { chooseMessage, joinQueue } from "./vestibule.js";
import { Words, localeOf, matchLanguage, type Sentences } from "./words.js";

const STYLE = `
:host {
  display: block;
  padding: var(--vestibule-padding, 1.5rem);
  border-radius: var(--vestibule-radius, .5rem);
  background: var(--vestibule-ground, #fff);
  color: var(--vestibule-ink, #1d2433);
  font: var(--vestibule-font, 1rem/1.5 system-ui, sans-serif);
  text-align: center;
}
:host([hidden]), [hidden] { display: none !important }
h2, p, button { margin: 0 .2em .5em }
[part=number] { color: var(--vestibule-accent, #2457d6); font-size: 3em; font-weight: 700; line-height: 1.2 }
[part=hint] { color: var(--vestibule-soft, #5a6478) }
button {
  padding: .6em 1.2em;
  border: 1px solid;
  border-radius: var(--vestibule-radius, .5rem);
  background: none;
  color: var(--vestibule-accent, #2457d6);
  font: inherit;
  cursor: pointer;
}`;

// A page may forbid text that is parsed as HTML (Trusted Types), so each part is created by itself.
function addPart(parent: Node, tag: string, part: string): HTMLElement {
  const element = document.createElement(tag);
  element.part.value = part;
  element.dir = "auto";
  parent.appendChild(element);
  return element;
}

const COUNTDOWN_MS = 250;
// The keys of the words on the buttons.
const BUTTONS = { claim: "enter", keep: "undo", account: "accountGo", leave: "leave", join: "join" };

/** `<vestibule-line queue base confirm return>`. */
export class VestibuleLine extends (globalThis.HTMLElement ?? Object) {
  static observedAttributes = ["queue", "base", "confirm", "return"];
  /** Options in addition to the attributes, such as `headers`. Set them before the element is in the page. */
  options: Partial<QueueOptions> = {};
  /** The place, while the element is in the page. */
  place: Place | undefined;
  #root: ShadowRoot | undefined;
  #tabs: BroadcastChannel | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #words!: Words;
  #format!: Format;

  connectedCallback(): void {
    if (!this.#root) {
      this.#root = this.attachShadow({ mode: "open" });
      // A change of the first three is read out.
      const place = addPart(this.#root, "div", "place");
      const spoken = addPart(place, "div", "spoken");
      spoken.ariaLive = "polite";
      addPart(spoken, "h2", "headline");
      addPart(spoken, "p", "message");
      addPart(spoken, "p", "hint");
      addPart(place, "p", "number");
      addPart(place, "p", "wait");
      addPart(place, "button", "claim").onclick = () => void this.place?.claim();
      addPart(place, "button", "keep").onclick = () => this.place?.keepAccount();
      addPart(place, "button", "account").onclick = () => this.place?.changeAccount();
      addPart(place, "button", "leave").onclick = () => void this.place?.leave();
      addPart(place, "button", "join").onclick = () => {
        this.#join();
        this.#tabs?.postMessage(0);
      };
      this.#speak("en", ENGLISH);
      void this.#loadLanguage();
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
      // A policy that forbids inline styles allows this.
      this.#root.adoptedStyleSheets = [sheet];
    }
    // To join again in one tab is for all tabs of the visitor.
    this.#tabs = new BroadcastChannel(`vestibule:${this.getAttribute("queue")}`);
    this.#tabs.onmessage = () => this.#part("join").hidden || this.#join();
    this.#timer = setInterval(() => this.#showNumber(), COUNTDOWN_MS);
    this.#join();
  }

  disconnectedCallback(): void {
    clearInterval(this.#timer);
    this.#tabs?.close();
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
    const {
      queue = "",
      base = "",
      confirm = "auto",
      return: returnTo = "",
    } = Object.fromEntries([...this.attributes].map(({ name, value }) => [name, value])) as Partial<QueueOptions & { return: string }>;
    const place = (this.place = joinQueue({ queue, base, confirm, returnTo, ...this.options }));
    place.subscribe((state) => place === this.place && this.#show(state));
    this.#show(place.state);
  }

  #show(state: PlaceState): void {
    this.#write(state);
    const { status, otherAccount } = state;
    // No pass is handed over before the visitor has said whose it is.
    const isUndecided = otherAccount === "new";
    const isInLine = ["waiting", "ready", "active"].includes(status);
    this.#part("claim").hidden = !(status === "ready" && state.needsInput);
    this.#part("leave").hidden = !isInLine;
    this.#part("keep").hidden = !isInLine || !isUndecided;
    this.#part("account").hidden = !isInLine || otherAccount === "none";
    this.#part("join").hidden = isInLine || ["joining", "finished"].includes(status);
    const event = new CustomEvent("vestibule-state", {
      detail: state,
      bubbles: true,
      composed: true,
      cancelable: true,
    });
    if (this.dispatchEvent(event) && status === "active" && state.targetUrl && !isUndecided) {
      this.#end();
      // Going back does not lead here again.
      location.replace(state.targetUrl);
    }
  }

  // English stays until the other language is there, and if it cannot be had.
  async #loadLanguage(): Promise<void> {
    const wanted = [this.closest<HTMLElement>("[lang]")?.lang ?? "", ...navigator.languages];
    const language = wanted.map((tag) => matchLanguage(tag, ["en", ...Object.keys(LOADERS)])).find(Boolean) ?? "en";
    const loaded = await LOADERS[language]?.().catch(() => undefined);
    if (loaded) this.#speak(language, loaded.default);
  }

  #speak(language: string, sentences: Sentences): void {
    this.#words = new Words(language, { ...ENGLISH, ...sentences });
    this.#format = new Format(localeOf(language));
    this.#part("place").lang = language;
    const n = this.#words.text("accountOther");
    for (const [name, key] of Object.entries(BUTTONS)) this.#part(name).textContent = this.#words.text(key, { n });
    if (this.place) this.#write(this.place.state);
  }

  #write(state: PlaceState): void {
    const message = chooseMessage(state.queue, [this.#words.language, ...navigator.languages]);
    this.#setText("headline", headlineText(this.#words, state));
    this.#setText("message", message);
    this.#part("message").lang = languageOfText(state.queue, message);
    this.#setText("hint", hintText(this.#words, state));
    this.#setText("wait", waitText(this.#words, this.#format, state));
    this.#showNumber();
  }

  // The position in the whole line, or the time that is left.
  #showNumber(): void {
    const state = this.place?.state;
    const { ahead = null, isAheadExpected = false } = state?.status === "waiting" ? state : {};
    const position = ahead !== null && (isAheadExpected ? "≈" : "") + this.#format.count(ahead + 1);
    const endsAtMs = state && "endsAtMs" in state ? state.endsAtMs : Number.NaN;
    this.#setText("number", position || countdownText(this.#format, endsAtMs - performance.now()));
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
