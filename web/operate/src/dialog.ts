// The dialog that asks once before an order: it shows the command that will be sent, and then what it did.

import { sendCommand } from "./api.js";
import { button, html, part, setText, showText, type Child } from "./dom.js";
import { describeAnswer } from "./outcome.js";
import { describeOvertakers, describeTimes, findDoubts } from "./changes.js";
import { messageField } from "./message_field.js";
import { ORDERS, changedSettings, needsName, type Field, type Order, type OrderName, type Seen, type Values } from "./orders.js";
import type { Speech } from "./sentences.js";
import type { Answer, Command, Detail } from "./types.js";

/** For which queue an order is given. */
export interface OrderContext {
  readonly queue: string;
  readonly epoch: number;
  /** The settings when the dialog opened. */
  readonly seen: Seen;
  readonly values?: Values;
  /** What the order will change, for the operator to read before. */
  readonly consequence?: string;
}

/** Shows content in the dialog. The focus returns to `opener` when it closes. */
export function showDialog(title: string, content: readonly Child[], opener: HTMLElement | null): HTMLDialogElement {
  const dialog = part<HTMLDialogElement>("dialog");
  if (dialog.open) dialog.close();
  dialog.replaceChildren(html("h2", { id: "dialog-title", tabindex: "-1" }, title), ...content.filter((child) => child instanceof Node));
  dialog.onclose = () => {
    question = undefined;
    if (opener?.isConnected) opener.focus();
  };
  dialog.showModal();
  const first = dialog.querySelector<HTMLElement>("input, textarea, select") ?? dialog.querySelector<HTMLElement>("h2");
  first?.focus();
  return dialog;
}

let question: Question | undefined;

/** Asks for an order and gives it. `done` is called after each command that succeeded. */
export function askOrder(name: OrderName, context: OrderContext, speech: Speech, opener: HTMLElement | null, done: (command: Command, answer: Answer) => void): void {
  const asked = new Question(name, context, speech, done);
  asked.show(opener);
  question = asked;
}

/** Tells the open dialog the newest numbers of the queue, so that it says what a colleague has changed meanwhile. */
export const tellDialog = (detail: Detail): void => question?.tell(detail);

class Question {
  readonly #order: Order;
  readonly #values: Record<string, string>;
  readonly #shown = html("pre", { tabindex: "0" });
  readonly #fields = new Map<Field, HTMLElement>();
  readonly #name = html("input", { autocomplete: "off", spellcheck: "false", "data-part": "confirm-name" });
  readonly #give: HTMLButtonElement;
  readonly #cancel: HTMLButtonElement;
  readonly #confirm: HTMLElement;
  readonly #preview = html("p", { class: "what", role: "status", hidden: true });
  readonly #doubts = html("div", { class: "doubts" });
  readonly #overtaken = html("p", { class: "overtaken", role: "status", hidden: true, "data-part": "overtaken" });
  readonly #outcome = html("div", { class: "outcome", role: "status", "data-part": "outcome" });
  readonly #form: HTMLFormElement;

  constructor(
    private readonly name: OrderName,
    private readonly context: OrderContext,
    private readonly speech: Speech,
    private readonly done: (command: Command, answer: Answer) => void,
  ) {
    this.#order = ORDERS[name];
    this.#values = { ...this.#order.first?.(context.seen.settings), ...context.values };
    const { say } = speech;
    this.#confirm = html("label", { class: "confirm" }, html("span", {}, say("type_name", { queue: context.queue })), this.#name);
    this.#give = html("button", { "data-part": "give" }, say(`order_${name}`));
    this.#cancel = button(say("cancel"), () => part<HTMLDialogElement>("dialog").close());
    this.#form = this.#makeForm();
    this.#update();
  }

  show(opener: HTMLElement | null): void {
    const { say } = this.speech;
    const order = say(`order_${this.name}`);
    const title = this.name === "create" ? order : say("order_of", { order, queue: this.context.queue });
    const dialog = showDialog(title, [this.#form, this.#outcome], opener);
    // The first thing to fill in has the focus, or else the button.
    if (this.#order.fields.length === 0) (this.#needsName ? this.#name : this.#give).focus();
    dialog.scrollTop = 0;
  }

  #makeForm(): HTMLFormElement {
    const { say } = this.speech;
    const { context, name } = this;
    const fields = this.#order.fields.map((field) => this.#makeField(field));
    const form = html(
      "form",
      { novalidate: true },
      html("p", {}, say(`order_${name}_note`, { queue: context.queue })),
      this.#overtaken,
      context.consequence && html("p", { class: "what" }, context.consequence),
      ...fields,
      this.#preview,
      this.#doubts,
      this.#confirm,
      html("p", { class: "command-title", id: "command-title" }, say("command")),
      this.#shown,
      html("p", { class: "buttons" }, this.#give, this.#cancel),
    );
    this.#shown.setAttribute("role", "region");
    this.#shown.setAttribute("aria-labelledby", "command-title");
    form.addEventListener("input", () => this.#update());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!this.#give.disabled) void this.#send();
    });
    if (this.#order.hasPreview) form.addEventListener("change", () => void this.#previewMatching());
    if (this.#order.hasPreview) void this.#previewMatching();
    return form;
  }

  #makeField(field: Field): HTMLElement {
    const { say, format } = this.speech;
    const { name, kind } = field;
    if (kind === "message") {
      const box = messageField(JSON.parse(this.#values[name] ?? "null"), format.locale.slice(0, 2), this.speech, (message) => {
        this.#values[name] = JSON.stringify(message);
        this.#update();
      });
      this.#fields.set(field, box);
      return box;
    }
    const label = say(`field_${name}`);
    let input: HTMLInputElement | HTMLSelectElement;
    if (kind === "choice") {
      const words = (value: string) => (name === "for_seconds" ? format.span(Number(value) * 1_000) : say(`choice_${name}_${value}`) || value);
      input = html("select", { name }, ...field.choices!.map((value) => html("option", { value }, words(value))));
      this.#values[name] ??= field.choices![0]!;
      input.value = this.#values[name];
    } else {
      const type = { number: "number", text: "text", flag: "checkbox", moment: "datetime-local" }[kind];
      input = html("input", { name, type, min: field.min, max: field.max, autocomplete: "off", spellcheck: "false" });
      if (kind === "flag") input.checked = Boolean(this.#values[name]);
      else input.value = this.#values[name] ?? "";
    }
    const box = html("label", { class: kind }, html("span", {}, label), input);
    input.addEventListener("input", () => {
      const isOff = input instanceof HTMLInputElement && input.type === "checkbox" && !input.checked;
      this.#values[name] = isOff ? "" : input.value.trim();
    });
    this.#fields.set(field, box);
    return box;
  }

  get #needsName(): boolean {
    return needsName(this.#order, this.#values, this.context.seen);
  }

  get #command(): Command {
    const { queue, epoch, seen } = this.context;
    const command = this.#order.toCommand(queue, this.#values, seen);
    return this.#needsName ? { ...command, confirm: this.#name.value, epoch } : command;
  }

  /** Says what has changed since the dialog opened. */
  tell(detail: Detail): void {
    if (detail.queue !== this.context.queue || this.#form.hidden) return;
    const touched = Object.keys(changedSettings(this.#command));
    const told = describeOvertakers(touched, this.context.seen, detail, this.speech);
    showText(this.#overtaken, told.length ? [...told, this.speech.say("overtaken_note")].join(" ") : "");
  }

  #update(): void {
    for (const [field, box] of this.#fields) box.hidden = field.isAsked?.(this.#values) === false;
    this.#confirm.hidden = !this.#needsName;
    this.#give.className = this.#needsName ? "danger" : "strong";
    if (this.name === "times") showText(this.#preview, describeTimes(this.#values, this.context.seen.settings, Date.now(), this.speech));
    this.#askAgain();
    // What the operator reads and what is sent are the same, but for the fingerprints of the settings.
    setText(this.#shown, JSON.stringify(this.#command, (name, value) => (name === "revision" ? `${String(value).slice(0, 8)}…` : value), 2));
    this.#give.disabled = !this.#isComplete;
  }

  // A change that may be a slip of the finger needs a tick of its own, which a further change takes away.
  #askAgain(): void {
    const doubts = this.name === "set_back" ? [] : findDoubts(changedSettings(this.#command), this.context.seen.settings, this.speech);
    const asked = [...this.#doubts.children].map(({ textContent }) => textContent);
    if (doubts.join() === asked.join()) return;
    this.#doubts.replaceChildren(...doubts.map((doubt) => html("label", { class: "flag doubt" }, html("span", {}, doubt), html("input", { type: "checkbox" }))));
  }

  get #isComplete(): boolean {
    const command = this.#command;
    if (command.op === "update" && Object.keys(changedSettings(command)).length === 0) return false;
    if (this.#doubts.querySelector("input:not(:checked)")) return false;
    const isFilled = [...this.#fields].every(([field, box]) => {
      if (field.optional || box.hidden) return true;
      const input = box.querySelector<HTMLInputElement>("input, select")!;
      return input.value.trim() !== "" && input.validity.valid;
    });
    return isFilled && (!this.#needsName || this.#name.value === this.context.queue);
  }

  // Without its confirmation the command changes nothing, and says how many entries match.
  async #previewMatching(): Promise<void> {
    if (!this.#values["source"]) return;
    const answer = await sendCommand(this.#order.toCommand(this.context.queue, this.#values, this.context.seen));
    const matching = !answer.ok && (answer.problem["matching"] as Record<string, number> | undefined);
    const { say, format } = this.speech;
    const counts = matching && { entries: format.count(matching["entries"] ?? 0), spared: format.count(matching["spared"] ?? 0) };
    showText(this.#preview, counts ? say("preview_evict", counts) : !answer.ok ? (answer.problem.detail ?? "") : "");
  }

  async #send(): Promise<void> {
    const command = this.#command;
    const { say } = this.speech;
    this.#give.disabled = true;
    setText(this.#outcome, say("sending"));
    const answer = await sendCommand(command);
    this.#showAnswer(command, answer);
    if (answer.ok) this.done(command, answer);
  }

  #showAnswer(command: Command, answer: Answer): void {
    const { say } = this.speech;
    const { title, detail } = describeAnswer(this.name, command, answer, this.speech);
    this.#outcome.replaceChildren(
      html("h3", { class: answer.ok ? "ok" : "failed", tabindex: "-1" }, title),
      ...(detail ? [html("p", {}, detail)] : []),
      ...(answer.ok && command.op === "report" ? [makeDownload(command, answer.result, this.speech)] : []),
      html("details", {}, html("summary", {}, say("whole_answer")), html("pre", { tabindex: "0" }, JSON.stringify(answer, null, 2))),
    );
    // After an order the dialog only tells; after a problem the operator may correct it.
    this.#give.disabled = false;
    if (answer.ok) {
      this.#form.hidden = true;
      this.#outcome.append(html("p", { class: "buttons" }, button(say("close_dialog"), () => part<HTMLDialogElement>("dialog").close(), { "data-part": "dialog-close" })));
    }
    this.#outcome.querySelector<HTMLElement>("h3")?.focus();
    this.#outcome.scrollIntoView({ block: "nearest" });
  }
}

// A link that saves the report.
function makeDownload(command: Command, result: Record<string, any>, { say }: Speech): HTMLElement {
  const isCsv = command["format"] === "csv";
  // A stack of an earlier version answers without the byte order mark by which Excel reads UTF-8.
  const text: string = isCsv ? result["csv"].replace(/^\ufeff?/, "\ufeff") : JSON.stringify(result, null, 2);
  const address = URL.createObjectURL(new Blob([text], { type: isCsv ? "text/csv" : "application/json" }));
  const name = `${command.queue.replaceAll(/[^\w.-]/g, "_")}-report.${isCsv ? "csv" : "json"}`;
  return html("p", {}, html("a", { class: "button", href: address, download: name, "data-part": "download" }, say("save_report", { name })));
}
