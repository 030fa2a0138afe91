// What a command did, in words. Pure.

import type { OrderName } from "./orders.js";
import type { Speech } from "./sentences.js";
import type { Answer, Command, Operation } from "./types.js";
import type { Results } from "./wire.js";

/** What each member of any of these types is. */
type Members<All> = { readonly [Name in All extends unknown ? keyof All : never]?: All extends unknown ? (Name extends keyof All ? All[Name] : never) : never };

/** What the operator reads after an order. */
export interface Outcome {
  readonly title: string;
  readonly detail: string;
}

/** Says what an order did, or why it did nothing. */
export function describeAnswer(name: OrderName, command: Command, answer: Answer, { say, format }: Speech): Outcome {
  if (!answer.ok) {
    const { title, detail, code } = answer.problem;
    return { title: say("failed", { title: title ?? say("no_answer") }), detail: [detail ?? say("no_answer_detail"), code ? `(${code})` : ""].filter(Boolean).join(" ") };
  }
  const result: Members<Results[Operation]> = answer.result;
  const notes: string[] = [];
  const count = (value: unknown) => format.count(Number(value ?? 0));
  if (name === "let_in") {
    notes.push(say("result_promoted", { count: count(result.promoted) }, Number(result.promoted)));
    if (result.limited_by && result.limited_by !== "requested") notes.push(say("fact_limit", { limit: say(`limit_${result.limited_by}`) }));
  }
  if (name === "lane") notes.push(say("result_lane", { from: count(result.from_lane), lane: count(result.lane), position: count(result.position) }));
  if (name === "evict_source") notes.push(say("result_evicted", { evicted: count(result.evicted), spared: count(result.spared), remaining: count(result.remaining) }));
  if (name === "evict") notes.push(say("result_evicted_one"));
  if (name === "block" || name === "unblock") notes.push(say("result_blocks", { count: count(Array.isArray(result.blocked) ? result.blocked.length : 0) }));
  if (result.changed === false || result.created === false || result.deleted === false) notes.push(say("result_unchanged"));
  if (result.superseded) notes.push(say("result_superseded"));
  if (result.durable === false) notes.push(say("result_not_durable"));
  return { title: say(`done_${name}`, { queue: command.queue }), detail: notes.join(" · ") };
}
