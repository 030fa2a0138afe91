// Which queues the rail shows, and in which order. Pure.

import type { QueueState } from "../../client/src/wire.js";
import type { Overview } from "./types.js";

/** One queue of the overview. */
export type QueueItem = Overview["queues"][number];

/** The choices of the filter: all queues, those that need a look, and those of one state. */
export const FILTERS = ["all", "look", "open", "scheduled", "paused", "draining", "closed", "finished"] as const;
export type Filter = "all" | "look" | QueueState;

// So often the order follows the numbers. In between it stays, so that a queue is where the operator saw it last.
const SORT_MS = 60_000;

// How urgent a queue is: 0 if the console knows no true numbers of it, 1 if its visitors wait for an order, and else 2.
function rankOf({ row }: QueueItem): number {
  if (row.problem || row.clocks_apart) return 0;
  const isStopped = row.state === "paused" || (row.state === "closed" && (row.waiting ?? 0) > 0);
  return isStopped ? 1 : 2;
}

/** Whether an operator must look at a queue: it does not answer, its clocks disagree, it is paused, or it is closed and visitors wait. */
export const needsLook = (item: QueueItem): boolean => rankOf(item) < 2;

/** Whether a queue belongs to a choice of the filter. */
export function isOfFilter(item: QueueItem, filter: Filter): boolean {
  if (filter === "look") return needsLook(item);
  return filter === "all" || item.row.state === filter;
}

/** The queues that need a look first, then those in which the most visitors wait. Of equal ones q2 is before q10. */
export function sortQueues(queues: readonly QueueItem[]): QueueItem[] {
  const names = new Intl.Collator("en", { numeric: true });
  return queues.toSorted((a, b) => rankOf(a) - rankOf(b) || (b.row.waiting ?? 0) - (a.row.waiting ?? 0) || names.compare(a.queue, b.queue));
}

/** The queue that a console shows at first: the first one that answers. */
export function firstQueue(queues: readonly QueueItem[]): string {
  const sorted = sortQueues(queues);
  return (sorted.find(({ row }) => !row.problem) ?? sorted[0])?.queue ?? "";
}

/**
 * The order of the rail. It is sorted anew when queues come or go, when one begins or ceases to need a look, and once a minute, but
 * never while the operator uses the list.
 */
export class RailOrder {
  #places = new Map<string, number>();
  #ranks = "";
  #sortedAtMs = -Infinity;

  /** The queues in the order to show. New ones are last until the list is free. */
  arrange(queues: readonly QueueItem[], nowMs: number, isInUse: boolean): QueueItem[] {
    const ranks = JSON.stringify(queues.map((item) => [item.queue, rankOf(item)]));
    const isDue = ranks !== this.#ranks || nowMs - this.#sortedAtMs >= SORT_MS;
    if (isDue && !isInUse) {
      [this.#ranks, this.#sortedAtMs] = [ranks, nowMs];
      this.#places = new Map(sortQueues(queues).map(({ queue }, n) => [queue, n]));
    }
    const placeOf = ({ queue }: QueueItem) => this.#places.get(queue) ?? this.#places.size;
    return queues.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}
