// The operator's console: reads the numbers every five seconds, and gives orders.

import { firstOrder, queueAdvice } from "./advice.js";
import { RequestError, readOverview, readQueue } from "./api.js";
import { showCharts } from "./charts.js";
import { PaceDesk } from "./desk.js";
import { canSetBack, finishWords, settingWords } from "./changes.js";
import { askOrder, tellDialog } from "./dialog.js";
import { button, html, part, setText, showText, updateList } from "./dom.js";
import { showFloor } from "./floor.js";
import type { ProblemBody } from "../../client/src/problem.js";
import { localeOf } from "../../client/src/words.js";
import { ConsoleFormat } from "./format.js";
import { chooseLanguage, languageNames, loadWords, storeLanguage } from "./languages.js";
import { MENU, ORDERS, isAllowed, readSearch, type OrderName, type Values } from "./orders.js";
import { Rail, addressOf } from "./rail.js";
import { firstQueue } from "./rail_order.js";
import { describeOrders, estimatedSeconds, messageText, queueFacts, stateWord, type Speech } from "./sentences.js";
import { Several } from "./several.js";
import { showEntry, showSources } from "./views.js";
import { Menu } from "./menu.js";
import type { Detail, Overview, Settings } from "./types.js";
import type { OperatorOrder } from "./wire.js";

const POLL_MS = 5_000;
const CLOCK_MS = 1_000;
// The server of the console lists all queues after an order, which may take so long.
const LIST_MS = 1_500;
// Numbers older than this are told to be old.
const OLD_MS = 12_000;

let speech: Speech;
let language = "en";
let desk: PaceDesk;
let overview: Overview | undefined;
let detail: Detail | undefined;
let answeredAt = performance.now();
let problem: ProblemBody | undefined;
let isFailing = false;
let polling: Promise<void> | undefined;
let timer = 0;

const selectedQueue = () => {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
};
const mayOrder = (name: OrderName) => isAllowed(ORDERS[name], overview?.deployment.right ?? "look");
const queueNames = () => overview?.queues.map(({ queue }) => queue) ?? [];
const searchText = () => part<HTMLInputElement>("find-text").value;

async function poll(): Promise<void> {
  try {
    overview = await readOverview();
    const selected = selectedQueue() || firstQueue(overview.queues);
    if (selected && !selectedQueue()) history.replaceState(null, "", addressOf(selected));
    const next = selected ? await readQueue(selected) : undefined;
    // The operator may have chosen another queue meanwhile.
    if ((next?.queue ?? "") === selectedQueue()) detail = next;
    answeredAt = performance.now();
    [isFailing, problem] = [false, undefined];
  } catch (error) {
    isFailing = true;
    problem = error instanceof RequestError ? error.problem : { detail: String(error) };
  }
  render();
}

/** Reads the numbers now, and then every five seconds while the page is visible. */
function refresh(): Promise<void> {
  clearTimeout(timer);
  polling ??= poll().finally(() => {
    polling = undefined;
    clearTimeout(timer);
    if (!document.hidden) timer = window.setTimeout(() => void refresh(), POLL_MS);
  });
  return polling;
}

async function refreshAnew(): Promise<void> {
  await polling;
  await refresh();
}

function ask(name: OrderName, values: Values = {}, consequence = "", opener: Element | null = document.activeElement, revision = detail?.revision ?? null): void {
  if (!detail && name !== "create") return;
  const seen = { settings: detail?.settings ?? null, revision };
  const told = name === "finish" && detail ? finishWords(detail, speech) : consequence;
  const context = { queue: detail?.queue ?? "", epoch: detail?.stats.epoch ?? 0, seen, consequence: told, values };
  askOrder(name, context, speech, opener as HTMLElement | null, (command) => {
    if (command.op === "create") location.hash = addressOf(command.queue);
    if (command.op === "delete") location.hash = "";
    void refreshAnew();
    // The list of all queues follows a moment later.
    setTimeout(() => void refreshAnew(), LIST_MS);
  });
}

// Asks to set the settings of an order of the log back to what they were before.
function askBack({ settings_before: before, revision }: OperatorOrder, opener: HTMLElement): void {
  const words = Object.entries(before!).map(([name, value]) => settingWords(name, value, speech, detail?.settings?.[name as keyof Settings] ?? null));
  ask("set_back", { settings: JSON.stringify(before) }, words.join(" · "), opener, revision);
}

function makeSetBack(order: OperatorOrder): HTMLElement {
  const back = button(`${speech.say("order_set_back")}…`, () => askBack(order, back), { "data-order": "set_back" });
  return back;
}

function showQueue(shown: Detail): void {
  const { stats, orders, now_ms } = shown;
  const { say, format } = speech;
  setText(part("name"), shown.queue);
  const { text, tone } = stateWord({ queue: shown.queue, state: stats.state }, speech);
  setText(part("state"), text);
  part("state").dataset["tone"] = tone;
  setText(part("facts"), queueFacts(shown, speech));
  showText(part("advice"), queueAdvice(shown, speech));
  const first = firstOrder(shown);
  part("pause").dataset["order"] = first;
  setText(part("pause"), `${say(`order_${first}`)}${first === "report" ? "…" : ""}`);
  part("let-in").hidden = first === "report" || first === "open";
  showFloor(shown, speech);
  showCharts(shown, speech);
  desk.show(shown);
  const happenings = describeOrders(orders, speech).slice(0, 30);
  const items = happenings.map((happening, n) => ({ ...happening, key: `${happening.atMs} ${happenings.length - n}` }));
  updateList(part("log"), items, ({ key }) => key, ({ order }) => html("li", {}, html("time"), html("span", {}, html("b"), html("small"), makeSetBack(order))), (item, { order, atMs, title, effect }) => {
    setText(item.querySelector("time")!, format.when(atMs, now_ms));
    item.querySelector("time")!.setAttribute("datetime", new Date(atMs).toISOString());
    setText(item.querySelector("b")!, title);
    showText(item.querySelector("small")!, effect);
    item.querySelector("button")!.hidden = !canSetBack(order, shown) || !mayOrder("set_back");
  });
  showVisitors(shown);
  tellDialog(shown);
  document.title = say("title", { queue: shown.queue, waiting: format.count(stats.waiting) });
}

function showVisitors({ queue, stats, settings }: Detail): void {
  const { say, format } = speech;
  const message = messageText(settings?.message, language);
  const seconds = estimatedSeconds(stats);
  const wait = stats.state === "open" || stats.state === "draining" ? (seconds === null ? say("sees_no_wait") : say("sees_wait", { wait: format.span(seconds * 1_000) })) : say(`sees_${stats.state}`);
  setText(part("sees-words"), [wait, message ? say("sees_message", { message }) : say("sees_no_message")].join(" "));
  const base = overview?.deployment.page ? overview.deployment.page_url : null;
  part("sees-buttons").hidden = part("sees-note").hidden = !base;
  if (!base) return part("frame").replaceChildren();
  const address = new URL(base, location.href);
  address.searchParams.set("queue", queue);
  part<HTMLAnchorElement>("sees-link").href = address.href;
  const frame = part("frame").querySelector("iframe");
  // The frame of another queue goes.
  if (frame && frame.src !== address.href) closeFrame();
}

function closeFrame(): void {
  part("frame").hidden = true;
  part("frame").replaceChildren();
  setText(part("sees-show"), speech.say("sees_show"));
}

function toggleFrame(): void {
  if (!part("frame").hidden) return closeFrame();
  const { href } = part<HTMLAnchorElement>("sees-link");
  part("frame").replaceChildren(html("iframe", { src: href, title: speech.say("sees_frame") }));
  part("frame").hidden = false;
  setText(part("sees-show"), speech.say("sees_hide"));
}

function showStrip(): void {
  const ageMs = performance.now() - answeredAt;
  const { say, format } = speech;
  const isOld = isFailing || ageMs > OLD_MS;
  const isClosed = problem?.code === "console-key";
  const isGone = problem?.code === "unknown-queue" || problem?.code === "queue-deleted";
  const reason = problem?.detail ?? problem?.title ?? say("no_answer");
  const asOf = overview ? say("as_of", { ago: format.span(ageMs) }) : "";
  const told = isClosed ? say("key_gone") : isGone ? say("queue_gone", { queue: selectedQueue() }) : `${reason}. ${asOf}`;
  showText(part("strip"), isOld ? told : "");
  document.body.classList.toggle("old", isOld);
}

// An order for which the operator has no right is greyed out, and says why.
function showRights(): void {
  const { say } = speech;
  for (const element of document.querySelectorAll<HTMLButtonElement>("header [data-order], #more-orders [data-order], [data-part='create']")) {
    const name = element.dataset["order"] ?? "create";
    const isRefused = name in ORDERS && !mayOrder(name as OrderName);
    element.disabled = isRefused;
    element.title = isRefused ? say("no_right") : "";
  }
  part("pace").toggleAttribute("inert", !mayOrder("pace"));
  showText(part("rights"), mayOrder("close") ? "" : say(mayOrder("pause") ? "rights_operate" : "rights_look"));
}

function render(): void {
  showStrip();
  if (!overview) return;
  rail.show(overview, selectedQueue(), searchText(), speech);
  several.show(rail.shown, queueNames(), mayOrder, speech);
  const isShown = detail?.queue === selectedQueue() && Boolean(detail);
  part("queue").hidden = !isShown;
  showText(part("empty"), overview.queues.length === 0 ? speech.say("no_queues_note") : "");
  if (detail && isShown) showQueue(detail);
  // The state of the queue decides which orders there are.
  showRights();
}

function search(event: Event): void {
  event.preventDefault();
  const found = readSearch(searchText(), [...rail.shown, ...queueNames()], selectedQueue());
  if (!found) return;
  if ("queue" in found) {
    location.hash = addressOf(found.queue);
    part("name").focus();
  } else void showEntry(found.command, speech, part("find-text"), { ask: (name, values) => ask(name, values, "", part("find-text")), mayOrder });
}

function showWords(): void {
  const { say } = speech;
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll<HTMLElement>("[data-text]")) setText(element, say(element.dataset["text"]!));
  for (const element of document.querySelectorAll<HTMLElement>("[data-label]")) element.setAttribute("aria-label", say(element.dataset["label"]!));
  for (const name of ["message", "let_in"] as const) setText(document.querySelector(`[data-order="${name}"]`)!, `${say(`order_${name}`)}…`);
  part<HTMLInputElement>("find-text").placeholder = say("find");
  desk = new PaceDesk(speech, (values, consequence) => ask("pace", values, consequence));
  const sources = { text: `${say("sources")}…`, act: (opener: HTMLElement) => void showSources(detail?.queue ?? "", speech, opener, { ask: (name, values) => ask(name, values, "", opener), mayOrder }) };
  const items = MENU.map((name) => ({ name, text: `${say(`order_${name}`)}…`, act: (opener: HTMLElement) => ask(name, {}, "", opener) }));
  menu.fill([...items.slice(0, 5), { name: "sources", ...sources }, ...items.slice(5)]);
}

async function speak(tag: string): Promise<void> {
  language = tag;
  const words = await loadWords(tag);
  speech = { say: (key, values, number) => words.text(key, values, number), format: new ConsoleFormat(localeOf(tag)) };
  showWords();
  if (detail) part("log").replaceChildren();
  render();
}

const several = new Several(render, () => void refreshAnew());
const rail = new Rail(several, render);
const menu = new Menu(part("more"), part("more-button"), part("more-orders"));
const languages = part<HTMLSelectElement>("language");
languages.append(...languageNames().map(([tag, name]) => html("option", { value: tag, lang: tag }, name)));
languages.value = chooseLanguage();
languages.addEventListener("change", () => {
  storeLanguage(languages.value);
  void speak(languages.value);
});
part("find").addEventListener("submit", search);
part("skip").addEventListener("click", (event) => {
  event.preventDefault();
  part(part("queue").hidden ? "main" : "name").focus();
});
part("create").addEventListener("click", () => ask("create"));
part("sees-show").addEventListener("click", toggleFrame);
for (const name of ["pause", "message", "let_in"]) {
  const opener = name === "pause" ? part("pause") : document.querySelector<HTMLElement>(`[data-order="${name}"]`)!;
  opener.addEventListener("click", () => ask(opener.dataset["order"] as OrderName, {}, "", opener));
}
addEventListener("hashchange", () => {
  render();
  void refreshAnew();
});
document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : void refresh()));

// The cookie has the key now. An address without it can be shown to others.
history.replaceState(null, "", location.pathname + location.hash);
await speak(languages.value);
await refresh();
setInterval(showStrip, CLOCK_MS);
