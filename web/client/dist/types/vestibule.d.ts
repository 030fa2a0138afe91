export type { EntryState, WaitRange } from "./answers.js";
export { chooseMessage, coveringTags, type Messages } from "./message.js";
export { openChannel } from "./channel.js";
export { joinQueue } from "./place.js";
export { ProblemError, type ProblemBody } from "./problem.js";
export { memoryStorage } from "./storage.js";
export type * from "./types.js";
