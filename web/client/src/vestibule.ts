// The client library of Vestibule: one visitor's place in one queue.
//
//   const place = joinQueue({ queue: "demo:1" });
//   for await (const state of place) show(state);

export type { EntryState, WaitRange } from "./answers.js";
export type { QueueSummary } from "./document.js";
export { chooseMessage, type Messages } from "./message.js";
export { joinQueue } from "./place.js";
export { ProblemError, type ProblemBody } from "./problem.js";
export { memoryStorage } from "./storage.js";
export type * from "./types.js";
