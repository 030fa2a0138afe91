// What the page says for states of the place that the browser tests do not reach.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ProblemError } from "../../client/src/problem.js";
import type { PlaceState } from "../../client/src/types.js";
import { PluralWords } from "../../client/src/words.js";
import { PageFormat } from "../src/format.js";
import { ScreenWriter, type Question } from "../src/screen.js";
import { nameScreen, type Context } from "../src/screen_name.js";
import { Start, progressOf } from "../src/walk.js";

// Each sentence is its key, with its values.
const KEYS = new Proxy({}, { get: (_, key) => `${String(key)} {n}{t}{r}`.trim() });
const writer = new ScreenWriter(new PluralWords("en", KEYS), new PageFormat("en-US"));

const context = (changes: Partial<Context> = {}): Context => ({
  ...{ nowMs: 10_000, stateAtMs: 10_000, undoUntilMs: 0, wasIn: false },
  ...{ isBack: false, isLooping: false, isAsking: false, isExtendRefused: false },
  ...changes,
});

const state = (status: PlaceState["status"], changes: object = {}): PlaceState => {
  const queue = { state: "open", message: "", messages: {}, limitedBy: "", waiting: NaN, opensAtMs: NaN, closesAtMs: NaN, isDrawn: false };
  const fields = { token: "t", position: 5, ahead: 4, behind: 3, estimatedWaitSeconds: { low: 300, high: 400 }, endsAtMs: NaN, needsInput: true };
  return { status, connection: "online", problem: null, updatedAtMs: 9_000, queue, ...fields, ...changes } as unknown as PlaceState;
};

test("the number counts the turns of all lanes, and a mark shows an expected one", () => {
  const lane = { position: 1, ahead: 40, behind: 33, isAheadExpected: false };
  const shown = (fields: object) => writer.write(state("waiting", { ...lane, ...fields }), context());
  assert.deepEqual([shown({}).number, shown({}).aheadCount, shown({}).behind], ["40", 40, "behind 33"]);
  assert.equal(shown({ isAheadExpected: true }).number, "≈40");
});

test("the wait grows shorter between two answers, and the position stays", () => {
  const waiting = state("waiting", { estimatedWaitSeconds: { low: 40, high: 80 } });
  const later = context({ nowMs: 35_000 });
  assert.equal(nameScreen(waiting, context()), "waiting");
  assert.equal(nameScreen(waiting, later), "near");
  assert.equal(writer.write(waiting, later).number, writer.write(waiting, context()).number);
});

test("an opening has its zone, and its day if that is another one", () => {
  const headline = (words: Record<string, string>, ms: number) => {
    const queue = { ...state("waiting").queue, state: "scheduled", opensAtMs: ms + 10_000 };
    return new ScreenWriter(new PluralWords("en", words), new PageFormat("en-US")).write(state("waiting", { queue }), context()).headline;
  };
  const words = { before: "Doors open at {c}", beforeDay: "Doors open on {d} at {c}", opensSoon: "soon" };
  assert.match(headline(words, 3_600_000), /^Doors open at \d+:\d\d\s[AP]M \S+$/);
  assert.match(headline(words, 50 * 3_600_000), /^Doors open on \w+day, \w+ \d+ at \d+:\d\d\s[AP]M \S+$/);
  assert.equal(headline(words, NaN), "soon", "the opening time is not known");
});

test("the time at which a line closed has its zone, as announcements have", () => {
  const queue = { ...state("failed").queue, closesAtMs: 5_000 };
  const problem = new ProblemError({ status: 409, body: { code: "queue-closed" } });
  const words = new PluralWords("en", { closedLead: "The line closed at {c}.", closedLeadDay: "The line closed on {d} at {c}." });
  const { detail } = new ScreenWriter(words, new PageFormat("en-US")).write(state("failed", { queue, problem }), context());
  assert.match(detail, /^The line closed at \d+:\d\d\s[AP]M \S+\.$/);
});

test("a page that can store nothing asks to keep the tab open, and only that one", () => {
  const hint = (changes: object) => writer.write(state("waiting", changes), context()).hint.trim();
  assert.deepEqual([hint({ isUnstored: false }), hint({ isUnstored: true })], ["hint", "hintTab"]);
});

test("a visitor whose turn is near is not told that the phone may be locked", () => {
  const hint = (changes: object) => writer.write(state("waiting", changes), context()).hint.trim();
  const near = { estimatedWaitSeconds: { low: 5, high: 15 } };
  assert.deepEqual([hint(near), hint({ isCalled: true }), hint({ isCalled: false })], ["", "", "hint"]);
  assert.equal(hint({ ...near, isUnstored: true }), "hintTab", "a reload costs the place until the end");
});

test("a pause is told although an answer still has an expected wait", () => {
  const queue = { ...state("waiting").queue, state: "paused" };
  assert.equal(nameScreen(state("waiting", { queue }), context()), "paused");
});

test("a missed turn keeps its place until the grace ends", () => {
  const missed = state("expired", { isMissedTurn: true, endsAtMs: 20_000 });
  assert.equal(nameScreen(missed, context()), "missed");
  assert.equal(nameScreen(missed, context({ nowMs: 20_001 })), "gone");
  assert.equal(nameScreen(state("expired", { isMissedTurn: true }), context()), "gone");
});

test("each refusal leads to the screen that says what to do", () => {
  const failed = (code: string) => nameScreen(state("failed", { problem: new ProblemError({ status: 403, body: { code } }) }), context());
  const codes = ["queue-closed", "queue-draining", "unknown-entry", "token-owner-mismatch", "blocked"];
  assert.deepEqual(codes.map(failed), ["closed", "closed", "reset", "reset", "refused"]);
});

test("a full queue is no lost connection", () => {
  const problem = new ProblemError({ status: 503, body: { code: "queue-full" } });
  const screen = writer.write(state("joining", { connection: "retrying", problem }), context());
  assert.deepEqual([screen.name, screen.strip], ["full", ""]);
});

test("leaving can be taken back in line and in a session", () => {
  const undo = context({ undoUntilMs: 15_000 });
  assert.equal(nameScreen(state("waiting"), undo), "leaving");
  assert.equal(nameScreen(state("active"), undo), "finishing");
  assert.deepEqual(writer.write(state("waiting"), undo).actions, ["undo"]);
});

test("a session that cannot be longer says so beside the time left, without the button", () => {
  const active = state("active", { endsAtMs: 40_000 });
  assert.deepEqual(writer.write(active, context()).actions, ["extend", "done"]);
  const { actions, detail } = writer.write(active, context({ isExtendRefused: true }));
  assert.deepEqual([actions, detail.trim()], [["done"], "inLead 30 seconds extendRefused"]);
});

test("a turn that is being claimed shows no button", () => {
  assert.deepEqual(writer.write(state("ready"), context()).actions, ["claim", "leave"]);
  assert.deepEqual(writer.write(state("ready", { needsInput: false }), context()).actions, ["leave"]);
});

// A sentence of these tests ends with the place of its values, which may be empty.
const withoutGaps = (text: string) => text.replace(/ +(?=[ .]|$)/g, "");

test("a link of another account names both places, and hands over nothing by itself", () => {
  type Asked = Question & { actions: readonly string[] };
  const ask = (status: PlaceState["status"], changes: object, name = ""): Asked => {
    const asked = state(status, { otherAccount: "new", targetUrl: "https://shop.example/", ...changes });
    const screen = writer.write(asked, context());
    const texts = Object.entries(writer.writeAccountQuestion(asked, screen, name));
    return { ...Object.fromEntries(texts.map(([key, text]) => [key, withoutGaps(text)])), actions: screen.actions } as Asked;
  };
  assert.deepEqual(ask("waiting", {}), {
    ...{ title: "accountTitle", cost: "accountPlace 5 accountLead", no: "undo", yes: "accountGo accountOther" },
    actions: ["leave"],
  });
  const { cost, yes, actions } = ask("active", { endsAtMs: 400_000 }, "Ada");
  assert.deepEqual([cost, yes, actions], ["in. accountLead", "accountGo Ada", ["target", "done"]]);
  assert.equal(ask("joining", {}).cost, "accountLead", "nothing is known of the place");
  assert.deepEqual(ask("active", { endsAtMs: 400_000, otherAccount: "kept" }).actions, ["done"]);
});

test("the way to the other account is told while it leads somewhere", () => {
  const way = (otherAccount: string, status: PlaceState["status"] = "waiting") => {
    const told = state(status, { otherAccount });
    return withoutGaps(writer.writeOtherAccount(told, writer.write(told, context()), ""));
  };
  assert.deepEqual(["none", "kept", "former"].map((other) => way(other)), ["", "accountGo accountOther", "accountBack"]);
  assert.deepEqual([way("former", "left"), way("former", "finished"), way("kept", "failed")], ["accountBack", "", ""]);
});

test("a queue that is over says why, if there are words for it", () => {
  const words = { finished: "It is over", cancelled: "Cancelled" };
  const shown = (finishReason: string) => {
    const over = state("finished", { queue: { ...state("finished").queue, state: "finished", finishReason } });
    return new ScreenWriter(new PluralWords("en", words), new PageFormat("en-US")).write(over, context()).headline;
  };
  assert.deepEqual(["", "over", "rain", "cancelled"].map(shown), ["It is over", "It is over", "It is over", "Cancelled"]);
});

test("the progress stays between start and door", () => {
  assert.deepEqual([progressOf(540, 540), progressOf(135, 540), progressOf(0, 0), progressOf(900, 540)], [0, 0.75, 1, 0]);
});

test("the start is that of the visit, also after a reload", () => {
  const items = new Map<string, string>();
  Object.assign(globalThis, { localStorage: { getItem: (key: string) => items.get(key) ?? null, setItem: (key: string, value: string) => items.set(key, value) } });
  const first = new Start("q");
  assert.deepEqual([first.aheadAtEntry("t", 540), first.aheadAtEntry("t", 128)], [540, 540]);
  assert.equal(new Start("q").aheadAtEntry("t", 127), 540);
  // The position never rises within a visit, so this is another one.
  assert.equal(new Start("q").aheadAtEntry("t", 600), 600);
  assert.equal(new Start("q").aheadAtEntry("other", 3), 3);
});
