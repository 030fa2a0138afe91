import type { Place, QueueOptions, Runtime } from "./types.js";
/** Joins the queue, or continues with the place that this visitor already has, and follows it. */
export declare function joinQueue(options: QueueOptions, runtime?: Runtime): Place;
