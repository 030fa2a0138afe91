// What the console says, in words of both languages.

import assert from "node:assert/strict";
import { test } from "node:test";

import EN from "../lang/en.json";
import KO from "../lang/ko.json";
import { describeAnswer } from "../src/outcome.js";
import { ORDERS, type OrderName } from "../src/orders.js";
import { ConsoleFormat } from "../src/format.js";
import { describeOrders, floorSentences, healthLines, messageText, queueFacts, stateWord, type Speech } from "../src/sentences.js";
import type { Detail, Operation } from "../src/types.js";

const speechOf = (sentences: Record<string, unknown>, locale: string): Speech => ({
  format: new ConsoleFormat(locale),
  say: (key, values = {}, number = 0) => {
    const found = sentences[key] ?? "";
    const form = typeof found === "string" ? found : ((found as Record<string, string>)[new Intl.PluralRules(locale).select(number)] ?? (found as Record<string, string>)["other"]!);
    return form.replace(/\{(\w+)\}/g, (_: string, name: string) => values[name] ?? "");
  },
});
const english = speechOf(EN, "en-US");
const korean = speechOf(KO, "ko-KR");
const NOW_MS = new Date(2026, 10, 26, 20, 33).getTime();

const totals = { entered: 9, fast_tracked: 0, bypassed: 0, claimed: 900, absences: 0, overlong_waits: 0, promoted: 1_000, completed: 8_214, left: 214, expired: 0, evicted: 0, no_shows: 61, dismissed: 0, returned: 40 };
const numbers = { waiting: 12_480, called: 212, present: 190, absent: 22, ready: 38, active: 462, held: 0, capacity: 500, batch: 20, served_per_second: 2 };
const settings = { batch: 20, interval_seconds: 10, capacity: 500, session_seconds: 300, claim_seconds: 60, presence_seconds: 90, absent_seconds: 3_600, lane_share: 10, adaptive: false, before_opening: "fifo", opens_at_ms: null, closes_at_ms: null, ends_at_ms: null, entrance: "open", paused: false, message: null };
const detailOf = (stats: object = {}, set: object = {}): Detail => ({
  ...{ queue: "q", now_ms: NOW_MS, settings: { ...settings, ...set }, revision: "abcd", build: null, samples: [], orders: [] },
  stats: { queue: "q", now_ms: NOW_MS, state: "open", mode: "queue", ...numbers, limited_by: null, estimated_wait_seconds: { low: 600, high: 1_200 }, totals, epoch: 3, generation: 1, ...stats } as Detail["stats"],
});

test("the sentence that matters is under each count", () => {
  const said = floorSentences(detailOf(), english);
  assert.equal(said["waiting"], "last one gets in about 20:48");
  assert.equal(said["ready"], "have 1 min to come in · 6.1% do not come");
  assert.equal(said["inside"], "38 more on their way in · no place is free");
  assert.equal(said["done"], "214 gave up · 61 missed their turn · 40 came back");
  assert.match(floorSentences(detailOf(), korean)["waiting"]!, /20:48쯤 입장/);
});

test("a queue that lets no visitor in says so", () => {
  assert.equal(floorSentences(detailOf({ state: "paused" }), english)["waiting"], "no visitor is let in now");
  assert.equal(floorSentences(detailOf({ waiting: 0 }), english)["waiting"], "no visitor waits");
  assert.equal(floorSentences(detailOf({ held: 9 }), english)["inside"], "38 more on their way in · 9 places kept for visitors who left · 9 too many until sessions end");
  assert.equal(floorSentences(detailOf({}, { presence_seconds: 0 }), english)["absent"], "presence is not checked");
});

test("the facts name what is to come, and a mode that is not the usual one", () => {
  const facts = queueFacts(detailOf({}, { closes_at_ms: NOW_MS + 3_600_000, before_opening: "draw" }), english);
  assert.equal(facts, "no newcomers from 21:33 · drawn before the opening");
  assert.equal(queueFacts(detailOf(), english), "");
});

test("the facts say which build answers", () => {
  const build = { version: "0.1.0", commit: "1a2b3c4" };
  assert.match(queueFacts({ ...detailOf(), build }, english), /Vestibule 0\.1\.0 1a2b3c4/);
});

test("a state is a word in both languages", () => {
  assert.equal(stateWord({ queue: "q", state: "draining" }, english).text, "Draining");
  assert.equal(stateWord({ queue: "q", state: "paused" }, korean).text, "일시 정지");
  assert.equal(stateWord({ queue: "q", problem: "no" }, english).text, "No answer");
  assert.equal(stateWord({ queue: "q", state: "open", clocks_apart: true }, english).text, "Clocks disagree");
});

test("what is not well says what follows, and all is well in one line", () => {
  const tell = (health: object, of: object = {}) =>
    healthLines({ line_ms: 0.44, backup_ms: 3, tick_age_ms: 700, problem: null, ...health }, { isMeasured: true, isBusy: true, ...of }, english).map(({ text, isWell }) => `${isWell} ${text}`);
  assert.deepEqual(tell({}), ["true Line, backup and promoter are well"]);
  assert.deepEqual(tell({ line_ms: 2_400, backup_ms: null, tick_age_ms: 90_000, problem: "Redis refuses" }), [
    "false The line is slow (2,400 ms): visitors wait for each answer.",
    "false The backup does not answer: visitors come in until the journal is full. See that it comes back.",
    "false The promoter is late (1 min 30 sec): visitors come in only while others ask. Restart it.",
    "false Redis refuses",
  ]);
  // A promoter sleeps while no visitor waits, and the console of a stack measures no part.
  assert.match(tell({ tick_age_ms: null }).join(), /^false The promoter is not heard of/);
  assert.match(tell({ tick_age_ms: null }, { isBusy: false }).join(), /^true/);
  assert.deepEqual(tell({ line_ms: null, backup_ms: null }, { isMeasured: false }), ["true The admin function answers"]);
});

test("what happened has callers, values before, and the length of a pause", () => {
  const orders = [
    { generation: 1, at_ms: NOW_MS, op: "pause", arguments: "", caller: "mina" },
    { generation: 1, at_ms: NOW_MS + 112_000, op: "resume", arguments: "" },
    { generation: 1, at_ms: NOW_MS + 120_000, op: "update", arguments: '{"settings":{"batch":28}}', settings_before: { batch: 20 } },
    { generation: 1, at_ms: NOW_MS + 130_000, op: "update", arguments: '{"settings":{"message":{"en":"Slow","ko":"느림"}}}' },
    { generation: 1, at_ms: NOW_MS + 135_000, op: "promote", arguments: '{"over_pace":true}', tokens: ["0f1e2d3c"] },
    { generation: 1, at_ms: NOW_MS + 140_000, op: "update", arguments: '{"settings":{"ticket_keys":…' },
  ];
  assert.deepEqual(describeOrders(orders, english).map(({ title, effect }) => `${title}: ${effect}`), [
    'Settings changed: {"settings":{"ticket_keys":…',
    "Let in by hand: entry 0f1e2d3c · over_pace true",
    "Message set: “Slow”",
    "Pace set: batch 20 → 28",
    "Resumed: paused for 1 min 52 sec; the time to claim stood still",
    "Paused by mina: ",
  ]);
});

test("an answer is told, and a problem with its detail", () => {
  const tell = (name: OrderName, answer: object, op: Operation = "promote") => describeAnswer(name, { op, queue: "q" }, answer as never, english);
  const promoted = tell("let_in", { ok: true, result: { promoted: 1, limited_by: "pace", durable: true } });
  assert.equal(promoted.detail, "1 visitor was called · no more, because the pace allows no more yet");
  const failed = tell("close", { ok: false, problem: { title: "Confirmation needed", detail: "add the epoch", code: "confirmation-needed" } });
  assert.deepEqual(failed, { title: "Not done: Confirmation needed", detail: "add the epoch (confirmation-needed)" });
  assert.match(tell("close", { ok: false, problem: {} }).detail, /is not known/);
});

test("every order has its words in both languages", () => {
  for (const { say } of [english, korean]) {
    const keys = (Object.keys(ORDERS) as OrderName[]).flatMap((name) => [`order_${name}`, `order_${name}_note`, `done_${name}`]);
    const fields = Object.values(ORDERS).flatMap(({ fields }) => fields);
    assert.deepEqual([...keys, ...fields.map(({ name }) => `field_${name}`)].filter((key) => !say(key)), []);
  }
});

test("a message is read in the language of the operator", () => {
  const message = { default: "ja", ja: "遅延", ko: "지연" };
  assert.deepEqual([messageText(message, "ko"), messageText(message, "en"), messageText("Slow", "ko"), messageText(null, "en")], ["지연", "遅延", "Slow", ""]);
});
