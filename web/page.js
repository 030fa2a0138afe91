// The waiting page around a Place. What the server says is shown as text, never as markup.

import { Place } from "./vestibule.js";

// A screen reader says the position so often at most.
const SPOKEN_MS = 30_000;

const queue = new URLSearchParams(location.search).get("queue") || "demo:1";
const place = new Place({ queue });
const part = (name) => document.querySelector(`[data-part="${name}"]`);
let view = {};
let joining = false;
let leaving = false;
let goneOn = false;
let spokenAtMs = -Infinity;

const HEADLINES = {
  waiting: "You are in line",
  ready: "It is your turn",
  active: "You are in",
  completed: "Done. Thank you for waiting",
  left: "You left the line",
  expired: "Your time is over",
};

const HINTS = {
  waiting: "Keep this page open. Reloading it does not lose your place.",
  ready: "Come back to this page to be let in.",
};

const TROUBLES = {
  "queue-closed": "This line is closed.",
  "queue-draining": "Nobody new is let into this line.",
  "unknown-queue": "There is no such line.",
  "unknown-entry": "The line was begun anew. Please join again.",
  "token-owner-mismatch": "The line was begun anew. Please join again.",
};

function set(name, text) {
  const element = part(name);
  element.hidden = text === "";
  if (element.textContent !== text) element.textContent = text;
}

function headline(entry) {
  if (!entry) return joining ? "One moment" : "You are not in line";
  // Whoever was never let in has no session that could have ended.
  return entry.state === "expired" && !entry.expires_at_ms ? "You missed your turn" : HEADLINES[entry.state];
}

// Nobody can say how long it takes while nothing moves, or before enough of it was seen; the view, which may be older,
// says which it is.
function standstill(entry) {
  if (entry?.state !== "waiting" || entry.estimated_wait_seconds) return "";
  if (view.entrance === "closed") return "The line is closed for now. Your place is kept.";
  if (view.paused || view.limited_by) return "The line stands still for a moment. Your place is kept.";
  return "How long it takes is not known yet. Your place is kept.";
}

function wait(range) {
  if (!range) return "";
  if (range.high < 90) return between(range.low, range.high, "seconds");
  const [low, high] = [Math.max(1, Math.floor(range.low / 60)), Math.ceil(range.high / 60)];
  return high < 120 ? between(low, high, "minutes") : between(Math.floor(low / 60), Math.ceil(high / 60), "hours");
}

function between(low, high, unit) {
  return low === high ? `about ${high} ${unit}` : `${low} to ${high} ${unit}`;
}

function clock(ms) {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

// Whoever missed the turn has the old place for a while.
function keptMs(entry) {
  return entry?.state === "expired" && entry.grace_until_ms ? place.msUntil(entry.grace_until_ms) : 0;
}

function show() {
  const { entry, position } = place;
  const { activeElement: focused } = document;
  const state = entry?.state ?? "none";
  const here = ["waiting", "ready", "active"].includes(state);
  document.body.dataset.state = state;
  set("headline", headline(entry));
  set("message", view.message ?? "");
  set("standstill", standstill(entry));
  set("position", position?.toLocaleString("en") ?? "");
  set("wait", wait(entry?.estimated_wait_seconds));
  part("position").classList.toggle("long", position >= 100_000);
  part("figures").hidden = position === null;
  part("wait-row").hidden = part("wait").hidden;
  part("leave").hidden = !here;
  part("leave").textContent = state === "active" ? "I am done" : "Leave the line";
  part("join").hidden = here || joining;
  document.title = [part("position").textContent, part("headline").textContent].filter(Boolean).join(" · ");
  countdown();
  speak();
  if (focused?.hidden) part("headline").focus({ preventScroll: true });
}

function countdown() {
  const { state, claim_by_ms: claimBy, expires_at_ms: expiresAt, grace_until_ms: graceUntil } = place.entry ?? {};
  const isKept = keptMs(place.entry) > 0;
  const until = { ready: claimBy, active: expiresAt, expired: isKept ? graceUntil : undefined }[state];
  set("countdown", until ? clock(place.msUntil(until)) : "");
  part("countdown-row").hidden = !until;
  set("hint", isKept ? "Your place is kept for you until the time is over." : (HINTS[state] ?? ""));
  const join = isKept ? "Take my place back" : place.entry ? "Join again" : "Join the line";
  if (part("join").textContent !== join) part("join").textContent = join;
}

function speak() {
  if (place.position === null) spokenAtMs = -Infinity;
  if (performance.now() - spokenAtMs < SPOKEN_MS) return;
  const [position, expected] = [part("position").textContent, part("wait").textContent];
  part("spoken").textContent = position && [`Position ${position}`, expected].filter(Boolean).join(", ");
  if (position) spokenAtMs = performance.now();
}

function trouble(problem) {
  const { entry } = place;
  const other = problem.passing
    ? `No answer at the moment. Trying again${entry ? "; your place is kept" : ""}.`
    : `${problem.message}.${entry ? " Please reload the page." : ""}`;
  set("trouble", TROUBLES[problem.code] ?? other);
}

// At the pace of the polls, which end at once when the line is paused or the message changes.
async function look() {
  try {
    view = await place.view();
    show();
  } catch {
    // The place's own polls say what is wrong.
  }
  goOn();
}

// To what is behind the line, where there is an address: the pass is in the fragment, which no server's log has. The
// address takes this page's stead, so that nobody who goes back is sent there once more.
function goOn() {
  const pass = place.entry?.pass;
  if (goneOn || !pass || !view.target_url) return;
  goneOn = true;
  const target = new URL(view.target_url);
  target.hash = new URLSearchParams({ pass });
  location.replace(target);
}

async function join() {
  joining = true;
  set("trouble", "");
  show();
  // What is wrong comes as an event.
  await place.join().catch(() => {});
  joining = false;
  show();
}

async function leave() {
  // Once is enough. The button stays enabled meanwhile, and so keeps the focus.
  if (leaving) return;
  leaving = true;
  await place.leave().catch(() => set("trouble", "That did not work. Please try again."));
  leaving = false;
}

place.addEventListener("change", () => {
  set("trouble", "");
  show();
  look();
});
place.addEventListener("trouble", (event) => {
  show();
  trouble(event.detail);
});
part("leave").addEventListener("click", leave);
part("join").addEventListener("click", join);

set("queue", queue);
setInterval(countdown, 250);
look();
join();
