// The waiting page around a Place. What the server says is shown as text, never as markup.

import { Place } from "./vestibule.js";

const VIEW_MS = 5_000;

const queue = new URLSearchParams(location.search).get("queue") || "demo:1";
const place = new Place({ queue });
const part = (name) => document.querySelector(`[data-part="${name}"]`);
let view = {};

const HEADLINES = {
  waiting: "You are in line",
  ready: "It is your turn",
  active: "You are in",
  completed: "Done. Thank you for waiting",
  left: "You left the line",
  expired: "Your time is over",
};

const ENTRANCES = {
  "queue-closed": "This line is closed",
  "queue-draining": "Nobody new is let into this line",
  "unknown-queue": "There is no such line",
};

function set(name, text) {
  const element = part(name);
  element.hidden = text === "";
  if (element.textContent !== text) element.textContent = text;
}

function duration(seconds) {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function wait(range) {
  if (!range) return "";
  const [low, high] = [duration(range.low), duration(range.high)];
  return low === high ? `about ${high}` : `${low} to ${high}`;
}

function clock(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

function show() {
  const { entry, position } = place;
  const state = entry?.state ?? "none";
  document.body.dataset.state = state;
  set("headline", HEADLINES[state] ?? "You are not in line");
  set("position", position == null ? "" : String(position));
  part("figures").hidden = position == null;
  set("wait", wait(entry?.estimated_wait_seconds));
  set("message", view.message ?? "");
  set("paused", view.paused && state === "waiting" ? "The line stands still for a moment. Your place is kept." : "");
  part("leave").hidden = !["waiting", "ready", "active"].includes(state);
  part("leave").textContent = state === "active" ? "I am done" : "Leave the line";
  part("join").hidden = ["waiting", "ready", "active"].includes(state);
  part("join").textContent = state === "none" ? "Join the line" : "Join again";
  countdown();
}

function countdown() {
  const { entry } = place;
  const until = entry?.state === "active" ? entry.expires_at_ms : entry?.state === "ready" ? entry.claim_by_ms : null;
  const text = until == null ? "" : clock(place.msUntil(until));
  set("countdown", text);
  part("countdown-label").hidden = text === "";
}

function trouble(problem) {
  set("trouble", ENTRANCES[problem.code] ?? (problem.passing ? "No answer at the moment. Trying again; your place is kept." : problem.message));
}

async function look() {
  try {
    view = await place.view();
    show();
  } catch {
    // The place's own polls say what is wrong.
  }
}

async function act(what) {
  set("trouble", "");
  try {
    await what();
  } catch (problem) {
    trouble(problem);
    show();
  }
}

place.addEventListener("change", () => {
  set("trouble", "");
  show();
});
place.addEventListener("trouble", (event) => trouble(event.detail));
part("leave").addEventListener("click", () => act(() => place.leave()));
part("join").addEventListener("click", () => act(() => place.join()));

set("queue", queue);
setInterval(countdown, 250);
setInterval(() => document.visibilityState === "visible" && look(), VIEW_MS);
look();
act(() => place.join());
