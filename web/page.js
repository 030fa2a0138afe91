// The waiting page around a Place. It shows texts of the server as text, never as markup.

import { Place } from "./vestibule.js";

// The shortest time between two announcements of the position to a screen reader.
const ANNOUNCE_INTERVAL_MS = 30_000;

const queue = new URLSearchParams(location.search).get("queue") || "demo:1";
const place = new Place({ queue });
const part = (name) => document.querySelector(`[data-part="${name}"]`);
let isJoining = false;
let isLeaving = false;
let isRedirected = false;
let announcedAtMs = -Infinity;

// Why the line may stand still although the queue is not paused.
const FAULTS = ["clock", "journal"];
const HEADLINES = {
  waiting: "You are in line",
  ready: "It is your turn",
  active: "You are in",
  completed: "Done. Thank you for waiting",
  left: "You left the line",
  expired: "Your session has ended",
  evicted: "You were removed from the line",
};

const HINTS = {
  waiting: "Keep this page open. Reloading it does not lose your place.",
  ready: "Come back to this page to be let in.",
};

const PROBLEM_TEXTS = {
  "queue-closed": "This line is closed.",
  "queue-draining": "This line does not accept new visitors.",
  "unknown-queue": "This line does not exist.",
  "unknown-entry": "The line was reset. Please join again.",
  "token-owner-mismatch": "The line was reset. Please join again.",
};

function setText(name, text) {
  const element = part(name);
  element.hidden = text === "";
  if (element.textContent !== text) element.textContent = text;
}

function headlineText(entry) {
  if (!entry) return isJoining ? "One moment" : "You are not in line";
  // An entry that expired without a session was never let in.
  return entry.state === "expired" && !entry.expires_at_ms ? "You missed your turn" : HEADLINES[entry.state];
}

// Explains why there is no estimate: the line does not move, or too few visitors have been let in to estimate.
function standstillText({ state, estimatedWaitSeconds, queue }) {
  if (state !== "waiting" || estimatedWaitSeconds) return "";
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

// Returns the time that a state lasts, or NaN. An older server sends only the timestamp of its end.
function stateLeftMs({ state, leftMs }) {
  const { claim_by_ms: claimBy, expires_at_ms: expiresAt, grace_until_ms: graceUntil } = place.entry ?? {};
  const endMs = { ready: claimBy, active: expiresAt, expired: graceUntil }[state] ?? Number.NaN;
  return leftMs ?? place.msUntil(endMs);
}

function render() {
  const { entry, view } = place;
  const { state, position } = view;
  const { activeElement: focused } = document;
  const isInQueue = ["waiting", "ready", "active"].includes(state);
  document.body.dataset.state = state;
  setText("headline", headlineText(entry));
  setText("message", view.queue.message ?? "");
  setText("standstill", standstillText(view));
  setText("position", position?.toLocaleString("en") ?? "");
  setText("wait", waitText(view.estimatedWaitSeconds));
  part("position").classList.toggle("long", position >= 100_000);
  part("figures").hidden = position === null;
  part("wait-row").hidden = part("wait").hidden;
  part("leave").hidden = !isInQueue;
  part("leave").textContent = state === "active" ? "I am done" : "Leave the line";
  part("join").hidden = isInQueue || isJoining;
  document.title = [part("position").textContent, part("headline").textContent].filter(Boolean).join(" · ");
  renderCountdown();
  announcePosition();
  if (focused?.hidden) part("headline").focus({ preventScroll: true });
}

function renderCountdown() {
  const { view } = place;
  const { state } = view;
  const leftMs = stateLeftMs(view);
  const isPlaceKept = state === "expired" && leftMs > 0;
  const isCounting = isPlaceKept || (state !== "expired" && !Number.isNaN(leftMs));
  setText("countdown", isCounting ? countdownText(leftMs) : "");
  part("countdown-row").hidden = !isCounting;
  setText("hint", isPlaceKept ? "Your place is kept until the time runs out." : (HINTS[state] ?? ""));
  const joinText = isPlaceKept ? "Take my place back" : place.entry ? "Join again" : "Join the line";
  if (part("join").textContent !== joinText) part("join").textContent = joinText;
}

function announcePosition() {
  if (place.position === null) announcedAtMs = -Infinity;
  if (performance.now() - announcedAtMs < ANNOUNCE_INTERVAL_MS) return;
  const [position, expected] = [part("position").textContent, part("wait").textContent];
  part("spoken").textContent = position && [`Position ${position}`, expected].filter(Boolean).join(", ");
  if (position) announcedAtMs = performance.now();
}

function noAnswerText() {
  return `No answer at the moment. Trying again${place.entry ? "; your place is kept" : ""}.`;
}

function showProblem(problem) {
  const defaultText = problem.retryable
    ? noAnswerText()
    : `${problem.message}.${place.entry ? " Please reload the page." : ""}`;
  setText("trouble", PROBLEM_TEXTS[problem.code] ?? defaultText);
}

// Sends an admitted visitor to the page behind the line, if the queue has its address. The pass is in the fragment,
// which no server logs. The address replaces this page in the history, so that going back does not redirect again.
function redirectToTarget() {
  const { targetUrl } = place.view;
  if (isRedirected || !targetUrl) return;
  isRedirected = true;
  const target = new URL(targetUrl);
  target.hash = new URLSearchParams({ pass: place.entry.pass });
  location.replace(target);
}

async function join() {
  isJoining = true;
  setText("trouble", "");
  render();
  // The event `problem` reports a failure.
  await place.join().catch(() => {});
  isJoining = false;
  render();
}

async function leave() {
  // Ignores a second click. The button stays enabled, so that it keeps the focus.
  if (isLeaving) return;
  isLeaving = true;
  await place.leave().catch(() => setText("trouble", "The request failed. Please try again."));
  isLeaving = false;
}

place.addEventListener("change", () => {
  const { hasProblem, isStale } = place.view;
  if (!hasProblem) setText("trouble", isStale ? noAnswerText() : "");
  render();
  redirectToTarget();
});
place.addEventListener("problem", (event) => {
  render();
  showProblem(event.detail);
});
part("leave").addEventListener("click", leave);
part("join").addEventListener("click", join);

setText("queue", queue);
setInterval(renderCountdown, 250);
join();
