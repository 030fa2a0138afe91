// One order to several queues: the operator chooses them in the rail, and the dialog says for each what was done.

import { sendCommand } from "./api.js";
import { showDialog } from "./dialog.js";
import { button, html, part, setText, updateList } from "./dom.js";
import { messageField } from "./message_field.js";
import { ORDERS, type OrderName, type Values } from "./orders.js";
import { describeAnswer } from "./outcome.js";
import type { Choice } from "./rail.js";
import type { Speech } from "./sentences.js";
import type { Answer, Command } from "./types.js";

/** The orders that can be given to several queues at once. None of them needs a confirmation by the name of the queue. */
export const SEVERAL_ORDERS = ["pause", "resume", "open", "message"] as const satisfies readonly OrderName[];
export type SeveralOrder = (typeof SEVERAL_ORDERS)[number];

// So many commands are under way at once: a console of a stack invokes a function for each.
const AT_ONCE = 4;

/** The command of an order for one of several queues. It says nothing of what the settings were. */
export const commandFor = (name: SeveralOrder, queue: string, values: Values): Command => ORDERS[name].toCommand(queue, values, { settings: null, revision: null });

/** Runs an action for each item, a few at once and in their order, as long as `goesOn` says so. */
export async function forEachFew<T>(items: readonly T[], atOnce: number, act: (item: T) => Promise<void>, goesOn: () => boolean): Promise<void> {
  const rest = [...items];
  const work = async () => {
    while (rest.length && goesOn()) await act(rest.shift()!);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

/** The mode of the rail in which the operator chooses queues. */
export class Several implements Choice {
  readonly #bar = part("several-bar");
  readonly #opener = part("several");
  readonly #all = html("input", { type: "checkbox", "data-part": "choose-all" });
  readonly #count = html("span", { role: "status", "data-part": "chosen" });
  readonly #orders = html("p", { class: "buttons" });
  readonly #chosen = new Set<string>();
  #shown: readonly string[] = [];
  #speech: Speech | undefined;
  #isOn = false;

  /** `change` is called after each change of the choice, and `done` after an order. */
  constructor(
    private readonly change: () => void,
    private readonly done: () => void,
  ) {
    this.#bar.append(html("label", {}, this.#all, this.#count), this.#orders);
    this.#all.addEventListener("change", () => {
      for (const queue of this.#shown) this.#put(queue, this.#all.checked);
      change();
    });
    this.#opener.addEventListener("click", () => {
      this.#isOn = !this.#isOn;
      this.#chosen.clear();
      change();
    });
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  has(queue: string): boolean {
    return this.#chosen.has(queue);
  }

  toggle(queue: string, isChosen: boolean): void {
    this.#put(queue, isChosen);
    this.change();
  }

  /** Shows the orders for the queues that are chosen, and which the operator may give. `shown` are those in the rail, of all that exist. */
  show(shown: readonly string[], all: readonly string[], mayOrder: (name: OrderName) => boolean, speech: Speech): void {
    const { say, format } = speech;
    this.#shown = shown;
    for (const queue of this.#chosen) if (!all.includes(queue)) this.#chosen.delete(queue);
    if (this.#speech !== speech) this.#makeOrders(speech);
    this.#bar.hidden = !this.#isOn;
    this.#opener.hidden = !this.#isOn && (all.length < 2 || !SEVERAL_ORDERS.some(mayOrder));
    this.#opener.setAttribute("aria-expanded", String(this.#isOn));
    setText(this.#opener, say(this.#isOn ? "several_end" : "several"));
    const chosenShown = shown.filter((queue) => this.#chosen.has(queue)).length;
    this.#all.checked = shown.length > 0 && chosenShown === shown.length;
    this.#all.indeterminate = chosenShown > 0 && chosenShown < shown.length;
    this.#all.setAttribute("aria-label", say("choose_all", { count: format.count(shown.length) }));
    setText(this.#count, say("chosen", { count: format.count(this.#chosen.size) }));
    for (const order of this.#orders.querySelectorAll("button")) {
      const isRefused = !mayOrder(order.dataset["several"] as SeveralOrder);
      order.disabled = isRefused || this.#chosen.size === 0;
      order.title = isRefused ? say("no_right") : "";
    }
  }

  #put(queue: string, isChosen: boolean): void {
    if (isChosen) this.#chosen.add(queue);
    else this.#chosen.delete(queue);
  }

  #makeOrders(speech: Speech): void {
    this.#speech = speech;
    const make = (name: SeveralOrder) => {
      const order = button(`${speech.say(`order_${name}`)}…`, () => this.#ask(name, speech, order), { "data-several": name });
      return order;
    };
    this.#orders.replaceChildren(...SEVERAL_ORDERS.map(make));
  }

  #ask(name: SeveralOrder, speech: Speech, opener: HTMLElement): void {
    new SeveralQuestion(name, [...this.#chosen], speech, this.done).show(opener);
  }
}

/** What became of the order in one queue. */
interface QueueOutcome {
  readonly queue: string;
  readonly answer?: Answer;
  readonly isSent?: boolean;
}

class SeveralQuestion {
  readonly #values: Record<string, string> = { message: "null" };
  readonly #give: HTMLButtonElement;
  readonly #shown = html("pre", { tabindex: "0", role: "region", "aria-labelledby": "command-title" });
  readonly #list = html("ul");
  readonly #told = html("p", { role: "status", "data-part": "outcome" });
  readonly #close: HTMLButtonElement;
  #outcomes: QueueOutcome[];

  constructor(
    private readonly name: SeveralOrder,
    queues: readonly string[],
    private readonly speech: Speech,
    private readonly done: () => void,
  ) {
    const { say } = speech;
    this.#outcomes = queues.map((queue) => ({ queue }));
    this.#give = button(say(`order_${name}`), () => void this.#send(), { class: "strong", "data-part": "give" });
    this.#close = button(say("cancel"), () => part<HTMLDialogElement>("dialog").close(), { "data-part": "dialog-close" });
  }

  show(opener: HTMLElement): void {
    const { say, format } = this.speech;
    const { name } = this;
    const count = format.count(this.#outcomes.length);
    const title = say("order_of", { order: say(`order_${name}`), queue: say("several_queues", { count }, this.#outcomes.length) });
    const field = name === "message" && messageField(null, format.locale.slice(0, 2), this.speech, (message) => {
      this.#values["message"] = JSON.stringify(message);
      this.#showCommand();
    });
    const queues = html("div", { class: "each", tabindex: "0", role: "region", "aria-label": say("queues"), "data-part": "each" }, this.#list);
    const form = html("form", { novalidate: true },
      html("p", {}, [say(`order_${name}_note`), name === "message" ? say("several_message_note") : ""].filter(Boolean).join(" ")),
      field,
      queues,
      html("p", { class: "command-title", id: "command-title" }, say("several_command")),
      this.#shown,
      this.#told,
      html("p", { class: "buttons" }, this.#give, this.#close),
    );
    form.addEventListener("submit", (event) => event.preventDefault());
    this.#showCommand();
    this.#showOutcomes();
    const dialog = showDialog(title, [form], opener);
    if (!field) this.#give.focus();
    dialog.scrollTop = 0;
  }

  #showCommand(): void {
    const isRemoval = this.name === "message" && this.#values["message"] === "null";
    setText(this.#give, this.speech.say(isRemoval ? "several_remove" : `order_${this.name}`));
    setText(this.#shown, JSON.stringify(commandFor(this.name, "…", this.#values), null, 2));
  }

  #showOutcomes(): void {
    const { say } = this.speech;
    updateList(this.#list, this.#outcomes, ({ queue }) => queue, ({ queue }) => html("li", {}, html("b", {}, queue), " ", html("span")), (item, { queue, answer, isSent }) => {
      const told = answer && describeAnswer(this.name, commandFor(this.name, queue, this.#values), answer, this.speech);
      const words = told ? [told.title, told.detail].filter(Boolean).join(" · ") : isSent ? say("sending") : "";
      setText(item.querySelector("span")!, words);
      item.querySelector("span")!.className = answer ? (answer.ok ? "ok" : "failed") : "";
    });
  }

  #put(outcome: QueueOutcome): void {
    this.#outcomes = this.#outcomes.map((before) => (before.queue === outcome.queue ? outcome : before));
    this.#showOutcomes();
  }

  // Closing the dialog stops what is not sent yet, and so nothing happens that the operator cannot see.
  async #send(): Promise<void> {
    const { say, format } = this.speech;
    const isOpen = () => this.#list.isConnected && part<HTMLDialogElement>("dialog").open;
    const open = this.#outcomes.filter(({ answer }) => !answer?.ok).map(({ queue }) => queue);
    this.#give.disabled = true;
    for (const queue of open) this.#put({ queue });
    setText(this.#told, say("several_sending"));
    await forEachFew(open, AT_ONCE, async (queue) => {
      this.#put({ queue, isSent: true });
      this.#put({ queue, answer: await sendCommand(commandFor(this.name, queue, this.#values)) });
    }, isOpen);
    this.done();
    const failed = this.#outcomes.filter(({ answer }) => !answer?.ok).length;
    const counts = { done: format.count(this.#outcomes.length - failed), failed: format.count(failed) };
    setText(this.#told, failed ? say("several_failed", counts) : say("several_done", counts, this.#outcomes.length));
    this.#told.className = failed ? "failed" : "ok";
    // What failed can be tried again; what is done is done once.
    this.#give.disabled = false;
    this.#give.hidden = failed === 0;
    if (failed) setText(this.#give, say("several_again", counts));
    setText(this.#close, say("close_dialog"));
    if (isOpen()) (failed ? this.#give : this.#close).focus();
  }
}
