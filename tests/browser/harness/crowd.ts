// Many clients of the library in this process, beside a page in a browser.

import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";

import type { Place } from "../../../web/client/src/types.js";

const library = new URL("../../../web/client/dist/vestibule.js", import.meta.url);

/** Loads the client library as it is built. */
export const loadLibrary = (): Promise<typeof import("../../../web/client/src/vestibule.js")> => import(fileURLToPath(library));

/** A crowd that waits in one queue. */
export class Crowd {
  #places: Place[] = [];

  /** So many more visitors join, one after another within a time. */
  async join(base: string, queue: string, count: number, withinMs: number): Promise<void> {
    const { joinQueue, memoryStorage } = await loadLibrary();
    const joined = Array.from({ length: count }, async (_, n) => {
      await sleep((n / count) * withinMs);
      const place = joinQueue({ queue, base, storage: memoryStorage(), presence: "always" });
      this.#places.push(place);
      for await (const { status } of place) if (status !== "joining") return;
    });
    await Promise.all(joined);
  }

  /** How many visitors of the crowd have this status. */
  count(status: Place["state"]["status"]): number {
    return this.#places.filter(({ state }) => state.status === status).length;
  }

  /** Every n-th visitor who still waits leaves. */
  async leaveEvery(n: number): Promise<void> {
    const waiting = this.#places.filter(({ state }) => state.status === "waiting");
    await Promise.all(waiting.filter((_, index) => index % n === 0).map((place) => place.leave()));
  }

  /** Ends all clients. */
  close(): void {
    for (const place of this.#places) place.close();
  }
}
