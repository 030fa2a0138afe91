// The dialog, in which the page asks one question at a time.

import type { Question } from "./screen.js";
import { part } from "./view.js";

/** What follows an answer. */
export interface Answers {
  readonly no?: () => void;
  readonly yes: () => void;
}

const dialog = () => part<HTMLDialogElement>("dialog");

/** Writes a question. It may change while the dialog is open. */
export function writeQuestion({ title, cost, no, yes }: Question): void {
  const texts = { question: title, cost, stay: no, confirm: yes };
  for (const [name, text] of Object.entries(texts)) {
    if (part(name).textContent !== text) part(name).textContent = text;
  }
}

/** Asks. Escape is no answer, and nothing behind the dialog stops. */
export function ask(question: Question, answers: Answers): void {
  writeQuestion(question);
  // An earlier answer must not count again.
  dialog().returnValue = "";
  dialog().onclose = () => answers[dialog().returnValue as "no" | "yes"]?.();
  dialog().showModal();
}

/** Whether a question is open. */
export const isAsking = (): boolean => dialog().open;

/** Takes the question back. */
export function endQuestion(): void {
  dialog().close();
}
