// The client library of Vestibule: one visitor's place in one queue.
//
//   const place = joinQueue({ queue: "demo:1" });
//   for await (const state of place) show(state);

export type { EntryState, WaitRange } from "./answers.js";
// The element has the second one, and the channel, from here.
export { chooseMessage, coveringTags, type Messages } from "./message.js";
export { openChannel } from "./channel.js";
export { joinQueue } from "./place.js";
export { ProblemError, type ProblemBody } from "./problem.js";
export { memoryStorage } from "./storage.js";
export type * from "./types.js";
