// The waiting page around a place in a queue: joins, follows, and shows what the visitor sees.

import { openChannel } from "../../client/src/channel.js";
import { leaveOnClose } from "../../client/src/closing.js";
import { HandOver } from "../../client/src/hand_over.js";
import { Leaving } from "../../client/src/leaving.js";
import { languageOfText } from "../../client/src/message.js";
import { chooseMessage, joinQueue, type Place, type PlaceState } from "../../client/src/vestibule.js";
import { localeOf } from "../../client/src/words.js";
import { LinkedAccount } from "./account.js";
import { TurnAlert } from "./alert.js";
import { PageFormat } from "./format.js";
import { Login } from "./login.js";
import { ask, endQuestion } from "./question.js";
import { watchForReopening } from "./reopening.js";
import { ScreenWriter, countBehind, isLost, type Screen } from "./screen.js";
import { CLOSED_CODES } from "./screen_name.js";
import { applyTheme, loadTheme, type Theme } from "./theme.js";
import { part, setText, showScreen, showWords } from "./view.js";
import { Start, Walk } from "./walk.js";
import { chosenLanguage, readWords, showIn } from "./words.js";

const TICK_MS = 500;
// A lost connection that is back sooner is not told.
const LOST_MS = 1_000;
const NOTICE_MS = 6_000;
// The page says "welcome back" after an absence so long, and for so long.
const AWAY_MS = 120_000;
const BACK_MS = 20_000;
// The shortest time between two announcements of the position to a screen reader.
const ANNOUNCE_MS = 30_000;

const parameters = new URLSearchParams(location.search);
const queue = parameters.get("queue") || "demo:1";
// The shop's ticket for this visitor, or the token of its login. They leave the address bar at once, and no server sees a
// fragment.
const fragment = location.hash;
const inFragment = new URLSearchParams(fragment.slice(1));
const ticket = inFragment.get("ticket") ?? undefined;
const token = inFragment.get("token");
if (fragment) history.replaceState(history.state, "", location.pathname + location.search);
const login = new Login(token);
const account = new LinkedAccount(ticket ?? login.token, queue);

const walk = new Walk();
const start = new Start(queue);
const alert = new TurnAlert();
const handOver = new HandOver();
const leaving = new Leaving(() => void leave(), () => {
  endQuestion();
  render();
});
// The other tabs of the visitor. A place that has ended stays so, and to join again in one tab is for all of them.
const tabs = openChannel(`vestibule-page:${queue}`);

let fetchOfPlace: typeof globalThis.fetch;
let theme: Theme = {};
let writer: ScreenWriter | undefined;
let place: Place;
let state: PlaceState;
let shown: Screen | undefined;
let stateAtMs = 0;
let wasIn = false;
let isExtendRefused = false;
let isClaiming = false;
let endWatching = () => {};
let lostAtMs = Infinity;
let noticeUntilMs = 0;
let backUntilMs = 0;
let seenAt = Date.now();
let announcedAtMs = -Infinity;

function join(): void {
  endWatching();
  wasIn = isExtendRefused = false;
  const returnTo = parameters.get("return") ?? "";
  const confirm = theme.confirm === "always" ? "manual" : "auto";
  const headers = (isOther: boolean) => login.headers(isOther);
  const joined = joinQueue({
    queue,
    returnTo,
    ticket,
    account: account.id,
    headers,
    spread: true,
    confirm,
    whenClosed: leaveOnClose,
    fetch: fetchOfPlace,
  });
  place = joined;
  joined.subscribe((next) => joined === place && take(next));
  take(joined.state);
}

function take(next: PlaceState): void {
  state = next;
  stateAtMs = performance.now();
  const { status, problem } = state;
  wasIn ||= status === "active";
  lostAtMs = isLost(state) ? Math.min(lostAtMs, stateAtMs) : Infinity;
  if (leaving.undoUntilMs && !["waiting", "ready", "active"].includes(status)) leaving.undo();
  if (state.status === "ready" && state.needsInput && theme.confirm === "never" && !leaving.undoUntilMs) claim();
  if (status !== "ready") isClaiming = false;
  if (state.status === "active" && state.targetUrl && !leaving.undoUntilMs) {
    part<HTMLAnchorElement>("target").href = state.targetUrl;
    // The pass could be of somebody else's link.
    if (state.otherAccount !== "new") handOver.go(state.targetUrl, state.token);
  }
  if (problem && login.go(theme.login, problem.code)) return;
  if (status === "failed" && CLOSED_CODES.includes(problem!.code)) {
    endWatching();
    endWatching = watchForReopening(queue, joinInAllTabs);
  }
  render();
}

function keepAccount(): void {
  login.keep();
  place.keepAccount();
}

function changeAccount(): void {
  const isOver = !["joining", "waiting", "ready", "active"].includes(state.status);
  wasIn = isExtendRefused = false;
  place.changeAccount();
  if (isOver) join();
}

function claim(): void {
  if (isClaiming) return;
  isClaiming = true;
  void place.claim();
}

async function leave(): Promise<void> {
  await place.leave().catch(notifyFailure);
}

async function extend(): Promise<void> {
  try {
    await place.extend();
    isExtendRefused = shown?.name === "ending";
  } catch (error) {
    isExtendRefused = (error as { status?: number }).status! > 0;
    if (!isExtendRefused) notifyFailure();
  }
  render();
}

function notifyFailure(): void {
  noticeUntilMs = performance.now() + NOTICE_MS;
  render();
}

function joinInAllTabs(): void {
  join();
  tabs?.postMessage("joined");
}

function render(): void {
  if (!writer || !state) return;
  const nowMs = performance.now();
  const isBack = nowMs < backUntilMs && !isLost(state);
  const { undoUntilMs } = leaving;
  const { isLooping } = handOver;
  const isAsking = theme.confirm === "always";
  const context = { nowMs, stateAtMs, undoUntilMs, wasIn, isBack, isLooping, isAsking, isExtendRefused };
  const before = shown?.name;
  const screen = writer.write(state, context);
  shown = screen;
  const { words } = writer;
  const isLinkLost = nowMs - lostAtMs >= LOST_MS;
  const strip = nowMs < noticeUntilMs ? words.text("failed") : isLinkLost ? screen.strip : "";
  document.body.dataset["link"] = isLinkLost ? "lost" : "online";
  setText("alert-text", words.text(alert.key));
  const message = chooseMessage(state.queue, [words.language, ...navigator.languages]);
  showScreen(screen, message, strip);
  part("message").lang = languageOfText(state.queue, message);
  // Without a connection, a reload would find no page.
  part("hint").style.visibility = isLinkLost && !state.isUnstored ? "hidden" : "";
  account.show(state, screen, writer, login.isUnknown(state.problem?.code), { no: keepAccount, yes: changeAccount });
  const isPlaced = "token" in state && screen.aheadCount !== null;
  walk.show(screen, isPlaced ? start.aheadAtEntry((state as { token: string }).token, screen.aheadCount!) : 0, words.text("walk"));
  showTitle(screen, nowMs);
  announce(screen, before, nowMs);
}

function showTitle({ name, number, headline }: Screen, nowMs: number): void {
  const isBlinking = document.hidden && alert.isOn && Math.floor(nowMs / 1_000) % 2 > 0;
  const mark = name === "turn" ? (isBlinking ? "▷ " : "▶ ") : number ? `(${number}) ` : "";
  const title = mark + headline;
  if (document.title !== title) document.title = title;
}

// Tells screen readers what has changed, and calls a visitor who is away.
function announce(screen: Screen, before: string | undefined, nowMs: number): void {
  const { name, headline, detail, number, ahead, range, actions } = screen;
  if (name !== before) {
    const isTurn = name === "turn" && actions.includes("claim");
    const isInUnseen = name === "in" && before !== "ending" && document.hidden;
    if (isTurn || isInUnseen) alert.call(headline, writer!.words.text(isTurn ? "turnBody" : ""), document.documentElement);
    else alert.stop();
    const isUrgent = name === "turn" || name === "ending";
    const told = [name !== "ending" && headline, detail].filter(Boolean).join(". ");
    part("urgent").textContent = isUrgent ? told : "";
    setSpoken(isUrgent ? "" : told);
    announcedAtMs = nowMs;
  } else if (ahead && nowMs - announcedAtMs >= ANNOUNCE_MS) {
    setSpoken([`${number} ${ahead}`, range].join(", "));
    announcedAtMs = nowMs;
  }
}

function setSpoken(text: string): void {
  if (part("spoken").textContent !== text) part("spoken").textContent = text;
}

function speak(): void {
  const { lang: language } = document.documentElement;
  const words = readWords(language, theme);
  writer = new ScreenWriter(words, new PageFormat(localeOf(language)));
  showWords((key) => words.text(key));
  setText("event", words.text("event") || queue);
  applyTheme(theme, theme.name ?? words.text("brand"), language);
}

function noticeAbsence(): void {
  const now = Date.now();
  if (now - seenAt > AWAY_MS) backUntilMs = performance.now() + BACK_MS;
  if (!document.hidden) seenAt = now;
}

function listen(): void {
  part("claim").addEventListener("click", claim);
  part("extend").addEventListener("click", () => void extend());
  part("join").addEventListener("click", joinInAllTabs);
  part("target").addEventListener("click", keepAccount);
  part("account").addEventListener("click", changeAccount);
  for (const name of ["leave", "done"]) {
    part(name).addEventListener("click", () => {
      ask(writer!.writeQuestion(state, { behindCount: countBehind(state) }), { yes: () => leaving.depart() });
    });
  }
  part("undo").addEventListener("click", () => leaving.undo());
  const menu = part<HTMLSelectElement>("language");
  menu.addEventListener("change", () => showIn(menu.value, fragment));
  const toggle = part<HTMLInputElement>("alert");
  toggle.checked = alert.isOn;
  toggle.addEventListener("change", () => alert.turn(toggle.checked));
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) alert.stop();
    noticeAbsence();
    render();
  });
  tabs?.addEventListener("message", () => shown?.actions.includes("join") || shown?.name === "closed" ? join() : undefined);
  setInterval(() => {
    noticeAbsence();
    render();
  }, TICK_MS);
}

/** Requests the document while the theme loads. The first request of the place takes it, if it is for the document. */
function requestDocument(): typeof globalThis.fetch {
  const address = `/queues/${encodeURIComponent(queue)}`;
  let early: Promise<Response> | undefined = fetch(address, { credentials: "omit" });
  early.catch(() => {});
  return (input, init) => {
    const answer = input === address ? early : undefined;
    early = undefined;
    return answer ?? fetch(input, init);
  };
}

async function run(): Promise<void> {
  fetchOfPlace = requestDocument();
  theme = await loadTheme();
  speak();
  listen();
  join();
  // The script runs, so no visitor needs the form for browsers without it.
  part("scriptless").remove();
}

const chosen = chosenLanguage(parameters.get("lang"));
if (chosen) showIn(chosen, fragment);
else await run();
