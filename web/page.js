// The waiting page around a place in a queue. It shows texts of the server as text, never as markup.

import { joinQueue } from "./vestibule.js";

// The shortest time between two announcements of the position to a screen reader.
const ANNOUNCE_INTERVAL_MS = 30_000;

// So many automatic redirects to the shop within this time are no loop.
const REDIRECTS_MAX = 2;
const LOOP_MS = 60_000;

const parameters = new URLSearchParams(location.search);
const queue = parameters.get("queue") || "demo:1";
// The path of the shop from which the visitor came.
const returnTo = parameters.get("return") ?? "";
// The shop's ticket for this visitor. It leaves the address bar at once, and no server sees a fragment.
const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket") ?? undefined;
if (ticket) history.replaceState(null, "", location.pathname + location.search);
const part = (name) => document.querySelector(`[data-part="${name}"]`);
let place;
let isLeaving = false;
let isRedirected = false;
let isLooping;
let announcedAtMs = -Infinity;
// The other tabs of the visitor. A place that has ended stays so, and to join again in one tab is for all of them.
const tabs = globalThis.BroadcastChannel ? new BroadcastChannel(`vestibule-page:${queue}`) : undefined;

// Why the line may stand still although the queue is not paused.
const FAULTS = ["clock", "journal"];
const HEADLINES = {
  joining: "One moment",
  waiting: "You are in line",
  ready: "It is your turn",
  active: "You are in",
  completed: "Thank you for waiting",
  left: "You have left",
  expired: "Your session has ended",
  evicted: "You were removed from the line",
  finished: "This line is over",
  failed: "You are not in line",
};

const HINTS = {
  waiting: "Keep this page open. Reloading it does not lose your place.",
  ready: "Come back to this page to be let in.",
};

const PROBLEM_TEXTS = {
  "queue-closed": "This line is closed.",
  "queue-draining": "This line does not accept new visitors.",
  "unknown-queue": "This line does not exist.",
  "ticket-required": "You need a link of the shop to join this line.",
  "invalid-ticket": "Your link to this line is not valid, or no longer. Please get a new one from the shop.",
  "identity-missing": "You must log in to join this line.",
  blocked: "You cannot join this line from here at the moment.",
  "unknown-entry": "The line was reset. Please join again.",
  "token-owner-mismatch": "The line was reset. Please join again.",
};

function setText(name, text) {
  const element = part(name);
  element.hidden = text === "";
  if (element.textContent !== text) element.textContent = text;
}

function headlineText({ status, isMissedTurn, reason, queue }) {
  if (isScheduled({ status, queue })) return "This line opens soon";
  if (status !== "expired" || !isMissedTurn) return HEADLINES[status];
  return reason ? "Your wait has ended" : "You missed your turn";
}

function isScheduled({ status, queue }) {
  return queue.state === "scheduled" && ["joining", "waiting"].includes(status);
}

// Explains why there is no estimate: the line does not move, or too few visitors have been let in to estimate.
function standstillText({ status, estimatedWaitSeconds, queue }) {
  if (status !== "waiting" || estimatedWaitSeconds) return "";
  if (queue.state === "scheduled") return "";
  if (queue.state === "closed") return "The line is closed for now. Your place is kept.";
  if (queue.state === "paused" || FAULTS.includes(queue.limitedBy)) {
    return "The line stands still for a moment. Your place is kept.";
  }
  if (queue.limitedBy === "capacity") {
    return "All places are taken at the moment. The line moves on when one becomes free.";
  }
  return "The expected wait is not known yet. Your place is kept.";
}

function waitText(range) {
  if (!range) return "";
  if (range.high < 90) return rangeText(range.low, range.high, "seconds");
  const [low, high] = [Math.max(1, Math.floor(range.low / 60)), Math.ceil(range.high / 60)];
  return high < 120
    ? rangeText(low, high, "minutes")
    : rangeText(Math.floor(low / 60), Math.ceil(high / 60), "hours");
}

function rangeText(low, high, unit) {
  return low === high ? `about ${high} ${unit}` : `${low} to ${high} ${unit}`;
}

function countdownText(ms) {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

function render() {
  const { state } = place;
  const { status, position = null } = state;
  const { activeElement: focused } = document;
  const isInQueue = ["waiting", "ready", "active"].includes(status);
  document.body.dataset.state = status;
  setText("headline", headlineText(state));
  setText("message", state.queue.message);
  setText("standstill", standstillText(state));
  setText("trouble", troubleText(state));
  setText("position", position?.toLocaleString("en") ?? "");
  setText("wait", waitText(state.estimatedWaitSeconds));
  part("position").classList.toggle("long", position >= 100_000);
  part("figures").hidden = position === null;
  part("wait-row").hidden = part("wait").hidden;
  part("claim").hidden = status !== "ready" || !state.needsInput;
  part("leave").hidden = !isInQueue;
  part("leave").textContent = status === "active" ? "I am done" : "Leave the line";
  part("join").hidden = isInQueue || status === "joining" || status === "finished";
  document.title = [part("position").textContent, part("headline").textContent].filter(Boolean).join(" · ");
  renderCountdown();
  announcePosition(position);
  if (focused?.hidden) part("headline").focus({ preventScroll: true });
}

function renderCountdown() {
  const { status, endsAtMs, queue } = place.state;
  const isOpening = isScheduled(place.state);
  const leftMs = (isOpening ? queue.opensAtMs : endsAtMs) - performance.now();
  const isPlaceKept = status === "expired" && leftMs > 0;
  const isCounting = isPlaceKept || (status !== "expired" && !Number.isNaN(leftMs));
  setText("countdown", isCounting ? countdownText(leftMs) : "");
  part("countdown-row").hidden = !isCounting;
  document.querySelector("#countdown-label").textContent = isOpening ? "Opens in" : "Time left";
  setText("hint", isPlaceKept ? "Your place is kept until the time runs out." : (HINTS[status] ?? ""));
  const joinText = isPlaceKept ? "Take my place back" : status === "failed" ? "Join the line" : "Join again";
  if (part("join").textContent !== joinText) part("join").textContent = joinText;
}

function announcePosition(position) {
  if (position === null) announcedAtMs = -Infinity;
  if (performance.now() - announcedAtMs < ANNOUNCE_INTERVAL_MS) return;
  const [shown, expected] = [part("position").textContent, part("wait").textContent];
  part("spoken").textContent = shown && [`Position ${shown}`, expected].filter(Boolean).join(", ");
  if (shown) announcedAtMs = performance.now();
}

function troubleText({ status, connection, problem }) {
  if (status === "failed") return PROBLEM_TEXTS[problem.code] ?? `${problem.message}.`;
  if (problem?.code === "queue-full") return "The line is full for now. This page keeps trying.";
  const isKept = status !== "joining" ? "; your place is kept" : "";
  if (connection === "offline") return `This device is offline${isKept}.`;
  return connection === "online" ? "" : `No answer at the moment. Trying again${isKept}.`;
}

// Whether the shop has sent the visitor back twice within a minute: then it does not accept the pass, and another
// redirect would not help.
function isSentBack() {
  const key = `vestibule:redirects:${queue}`;
  const nowMs = Date.now();
  let times = [];
  try {
    times = JSON.parse(sessionStorage.getItem(key) ?? "[]").filter((ms) => ms <= nowMs && ms > nowMs - LOOP_MS);
    if (times.length < REDIRECTS_MAX) sessionStorage.setItem(key, JSON.stringify([...times, nowMs]));
  } catch {
    // Without a storage no loop is noticed.
  }
  return times.length >= REDIRECTS_MAX;
}

// Sends an admitted visitor to the shop, if the queue has its address. The address replaces this page in the history, so
// that going back does not redirect again.
function redirectToTarget({ status, targetUrl }) {
  part("target").hidden = true;
  if (status !== "active" || !targetUrl) return;
  part("target").href = targetUrl;
  isLooping ??= isSentBack();
  part("target").hidden = !isLooping;
  if (isLooping) setText("trouble", "The shop sends you back here. Your session goes on. You can open the shop yourself.");
  else if (!isRedirected) location.replace(targetUrl);
  isRedirected = true;
}

function join() {
  place = joinQueue({ queue, returnTo, ticket, spread: true });
  place.subscribe((state) => {
    render();
    redirectToTarget(state);
  });
  render();
}

async function leave() {
  // Ignores a second click. The button stays enabled, so that it keeps the focus.
  if (isLeaving) return;
  isLeaving = true;
  await place.leave().catch(() => setText("trouble", "The request failed. Please try again."));
  isLeaving = false;
}

part("claim").addEventListener("click", () => place.claim());
part("leave").addEventListener("click", leave);
part("join").addEventListener("click", () => {
  join();
  tabs?.postMessage("joined");
});
tabs?.addEventListener("message", () => part("join").hidden || join());

setText("queue", queue);
join();
setInterval(renderCountdown, 250);
