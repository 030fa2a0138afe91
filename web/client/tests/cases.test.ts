// The cases of cases.json: each is a rule of the follower, with events, the requests that come next, and what the visitor sees.
// The second implementation, shared/crowd/src/rules, runs the same file. docs/testing.md says how to add a case.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { PublicDocument } from "../src/answers.js";
import { drawnOrder } from "../src/draw.js";
import { isBeforeOpening } from "../src/entry.js";
import { Follower } from "../src/follower.js";
import type { ProblemBody } from "../src/problem.js";
import type { RequestKind } from "../src/request.js";
import { NO_PLACE } from "../src/storage.js";
import type { PlaceState, WaitingState } from "../src/types.js";
import cases from "./cases.json" with { type: "json" };

type Json = null | boolean | number | string | readonly Json[] | JsonObject;
interface JsonObject {
  readonly [name: string]: Json;
}
type Changes = JsonObject & { readonly base: string };

interface Place {
  readonly token?: string;
  readonly visit?: number;
  readonly position?: number;
}

/** An event at a time, and what is expected after it. Without an event, only time has passed. */
interface Step {
  readonly at_ms: number;
  readonly join?: Place;
  readonly forget?: Place;
  readonly ask_spread?: Place;
  readonly wake?: "shown" | "reconnected";
  readonly entry?: Changes & { readonly of?: RequestKind };
  readonly document?: Changes;
  readonly refusal?: { readonly of: RequestKind; readonly status: number; readonly retry_after_ms?: number | null } & ProblemBody;
  readonly next?: readonly [RequestKind, number, number?] | null;
  readonly screen?: JsonObject;
  readonly is_sooner?: boolean;
}

interface Case {
  readonly rule: string;
  readonly random?: number;
  readonly spread?: boolean;
  readonly hidden?: boolean;
  readonly steps: readonly Step[];
}

/** A case, or one for each row of `each`. A text in place of a row is the name of a table. */
type Template = Case & { readonly each?: readonly (string | JsonObject)[] };

const FILE = cases as unknown as {
  readonly entries: Readonly<Record<string, JsonObject>>;
  readonly documents: Readonly<Record<string, JsonObject>>;
  readonly tables: Readonly<Record<string, readonly JsonObject[]>>;
  readonly cases: readonly Template[];
};

const EVENTS = ["join", "forget", "ask_spread", "wake", "entry", "document", "refusal"];
const EXPECTATIONS = ["next", "screen", "is_sooner"];
const TOLERANCE_MS = 0.001;

const isObject = (value: Json | undefined): value is JsonObject => value?.constructor === Object;

/** The changes in a base: those of an object are merged, and `null` removes a member (RFC 7396). */
function merge(base: Json | undefined, changes: Json): Json {
  if (!isObject(changes)) return changes;
  const merged: Record<string, Json> = isObject(base) ? { ...base } : {};
  for (const [name, change] of Object.entries(changes)) {
    if (change === null) delete merged[name];
    else merged[name] = merge(merged[name], change);
  }
  return merged;
}

/** The named answer with the changes. Its base may have a base, too. */
function complete(named: Readonly<Record<string, JsonObject>>, { base, ...changes }: Changes): JsonObject {
  const { [base]: answer } = named;
  assert.ok(answer, `there is no answer ${base}`);
  const whole = "base" in answer ? complete(named, answer as Changes) : answer;
  return merge(whole, changes) as JsonObject;
}

/** The case for each row of its table `each`: a text that is the name of a column becomes the value of the row. */
function* expand({ each = [{}], ...template }: Template): Generator<[Case, string]> {
  for (const row of each.flatMap((row) => (typeof row === "string" ? FILE.tables[row]! : row))) {
    const replace = (_: string, value: unknown) => (typeof value === "string" && value in row ? row[value] : value);
    const label = Object.keys(row).length > 0 ? `, ${JSON.stringify(row)}` : "";
    yield [JSON.parse(JSON.stringify(template, replace)) as Case, label];
  }
}

/** Takes the event of a step. Returns whether the next request is due sooner, if it is a waking. */
async function take(follower: Follower, step: Step, isHidden: boolean): Promise<boolean | undefined> {
  const { at_ms: atMs, entry, document, refusal } = step;
  const place = step.join ?? step.forget;
  if (step.forget) follower.forgetEntry();
  if (place) {
    const { token, visit = 0, position = Infinity } = place;
    follower.join(token ? { token, lowest: { visit, position } } : NO_PLACE, atMs);
    // The visitor attends to the page, unless it is hidden.
    follower.attendance.addInput(Infinity);
    follower.attendance.changeVisibility(!isHidden, atMs);
  }
  if (step.ask_spread) follower.askSpread(atMs);
  if (step.wake) return follower.wake(atMs, step.wake === "reconnected");
  if (entry) {
    const { of: kind = "status", ...changes } = entry;
    follower.receive({ kind, isOk: true, status: 200, body: complete(FILE.entries, changes) as ProblemBody }, atMs);
  }
  if (document) {
    const body = complete(FILE.documents, document) as unknown as PublicDocument;
    // As the shell does it.
    const isDrawn = body.draw_seed && isBeforeOpening(follower.entry);
    const drawn = isDrawn ? await drawnOrder(body.draw_seed, follower.token) : undefined;
    follower.receive({ kind: "document", isOk: true, status: 200, body: { ...body, drawn } }, atMs);
  }
  if (refusal) {
    const { of: kind, status, retry_after_ms: retryAfterMs, ...body } = refusal;
    follower.receive({ kind, isOk: false, status, body, retryAfterMs: retryAfterMs ?? undefined }, atMs);
  }
  return undefined;
}

/** What the visitor sees, in the words of the cases. */
function show(state: PlaceState): JsonObject {
  const { status, connection } = state;
  // At run time, a state has the fields of all statuses.
  const { position, ahead, isAheadExpected, estimatedWaitSeconds: range, isCalled } = state as WaitingState;
  const estimate = range && [range.low, range.high];
  return { status, connection, position, ahead, ahead_is_expected: isAheadExpected, estimate, is_called: isCalled };
}

/** Asserts what a step expects. A screen is compared by what the step names of it. */
function check(follower: Follower, step: Step, isSooner: boolean | undefined): void {
  if (step.next === null) assert.equal(follower.isOver, true, "the visit is not over");
  if (step.next) {
    assert.equal(follower.isOver, false, "the visit is over");
    const { kind, atMs, holdSeconds = 0 } = follower.nextRequest;
    const [expectedKind, expectedAtMs, expectedHold = 0] = step.next;
    const isAtTime = Math.abs(atMs - expectedAtMs) < TOLERANCE_MS;
    assert.deepEqual([kind, isAtTime ? expectedAtMs : atMs, holdSeconds], [expectedKind, expectedAtMs, expectedHold]);
  }
  if (step.screen) {
    const shown = show(follower.stateAt(step.at_ms));
    const named = Object.keys(step.screen).map((name) => [name, shown[name]]);
    assert.deepEqual(Object.fromEntries(named), step.screen);
  }
  if (step.is_sooner !== undefined) assert.equal(isSooner, step.is_sooner);
}

async function run({ random = 0.5, spread = false, hidden = false, steps }: Case): Promise<void> {
  const follower = new Follower(() => random, true, undefined, spread);
  for (const [n, step] of steps.entries()) {
    const isSooner = await take(follower, step, hidden);
    try {
      check(follower, step, isSooner);
    } catch (error) {
      throw new Error(`step ${n + 1}, at ${step.at_ms} ms: ${(error as Error).message}`);
    }
  }
}

for (const template of FILE.cases) {
  for (const [example, label] of expand(template)) test(`${example.rule}${label}`, () => run(example));
}

test("a case has a rule of its own, and each of its steps at most one event", () => {
  const rules = FILE.cases.map(({ rule }) => rule);
  assert.deepEqual(rules.filter((rule, n) => rules.indexOf(rule) !== n), []);
  for (const { rule, steps } of FILE.cases) {
    const names = steps.flatMap((step) => Object.keys(step));
    assert.ok(EXPECTATIONS.some((name) => names.includes(name)), `${rule}: expects nothing`);
    for (const step of steps) {
      const events = Object.keys(step).filter((name) => !["at_ms", ...EXPECTATIONS].includes(name));
      assert.ok(events.length <= 1 && events.every((name) => EVENTS.includes(name)), `${rule}: ${events}`);
    }
  }
});
