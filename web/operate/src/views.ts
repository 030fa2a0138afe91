// What the console shows in its dialog besides orders: one entry, and the sources of a queue.

import { sendCommand } from "./api.js";
import { showDialog } from "./dialog.js";
import { button, html, part } from "./dom.js";
import type { OrderName, Values } from "./orders.js";
import type { Speech } from "./sentences.js";
import type { Command } from "./types.js";

/** Gives orders with values. */
export interface Desk {
  /** Opens an order with these values. */
  readonly ask: (name: OrderName, values: Values) => void;
  /** Whether the operator has the right to an order. */
  readonly mayOrder: (name: OrderName) => boolean;
}

const close = (speech: Speech) =>
  html("p", { class: "buttons" }, button(speech.say("close_dialog"), () => part<HTMLDialogElement>("dialog").close(), { "data-part": "dialog-close" }));

/** Shows the entry that a command `inspect` finds, with the orders for it. */
export async function showEntry(command: Command<"inspect">, speech: Speech, opener: HTMLElement | null, { ask, mayOrder }: Desk): Promise<void> {
  const { say, format } = speech;
  const answer = await sendCommand(command);
  if (!answer.ok) {
    showDialog(say("entry"), [html("p", { role: "alert" }, answer.problem.detail ?? answer.problem.title ?? say("no_answer")), close(speech)], opener);
    return;
  }
  const { token, place, record } = answer.result;
  const state: string | undefined = place?.state ?? record?.state;
  const facts: [string, string][] = [
    ["token", token],
    ["entry_state", state ? say(`entry_${state}`) || state : say("entry_none")],
  ];
  if (place?.position) facts.push(["position", format.count(place.position)]);
  if (place?.lane !== undefined) facts.push(["lane", format.count(place.lane)]);
  const times: Record<string, number | null | undefined> = {
    joined_at: place?.joined_at_ms ?? record?.joined_at_ms,
    claim_by: place?.claim_by_ms,
    expires_at: place?.expires_at_ms,
    ended_at: place?.ended_at_ms ?? record?.ended_at_ms,
  };
  for (const [name, atMs] of Object.entries(times)) if (atMs) facts.push([name, format.moment(atMs)]);
  if (record?.source) facts.push(["source", record.source]);
  const list = html("dl", { "data-part": "entry" }, ...facts.flatMap(([name, value]) => [html("dt", {}, say(`fact_${name}`)), html("dd", {}, value)]));
  const orders: OrderName[] = state === "waiting" ? ["let_in", "lane", "block", "evict"] : state === "ready" || state === "active" ? ["block", "evict"] : ["block"];
  const values: Values = { token, who: "one", target: "token" };
  const buttons = orders.map((name) => button(`${say(`order_${name}`)}…`, () => ask(name, values), { disabled: !mayOrder(name) }));
  showDialog(say("entry"), [list, html("p", { class: "buttons" }, ...buttons), close(speech)], opener);
}

/** Shows from which sources the entries of a queue come, with the orders for each. */
export async function showSources(queue: string, speech: Speech, opener: HTMLElement | null, { ask, mayOrder }: Desk): Promise<void> {
  const { say, format } = speech;
  const answer = await sendCommand({ op: "sources", queue, limit: 20 });
  if (!answer.ok) {
    showDialog(say("sources"), [html("p", { role: "alert" }, answer.problem.detail ?? say("no_answer")), close(speech)], opener);
    return;
  }
  const rows = answer.result.sources.map((row) => {
    const { source, blocked } = row;
    const values: Values = { source: source ?? "", target: "source" };
    const orders: OrderName[] = source ? [blocked ? "unblock" : "block", "evict_source"] : [];
    const counts = [row.entries, row.never_present, row.active, row.claimed].map((count) => html("td", {}, format.count(count)));
    const acts = orders.map((name) => button(say(`order_${name}`), () => ask(name, values), { "aria-label": `${say(`order_${name}`)}: ${source}`, disabled: !mayOrder(name) }));
    return html("tr", {}, html("th", { scope: "row" }, source ?? say("source_none"), blocked ? html("small", {}, ` ${say("is_blocked")}`) : null), ...counts, html("td", {}, html("span", { class: "buttons" }, ...acts)));
  });
  const head = ["fact_source", "column_entries", "column_never_present", "count_inside", "column_claimed", "column_orders"].map((key) => html("th", { scope: "col" }, say(key)));
  const table = html("table", { "data-part": "sources" }, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows));
  showDialog(say("sources"), [html("p", {}, say("sources_note")), html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": say("sources") }, table), close(speech)], opener);
}
