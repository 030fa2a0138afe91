// Measures what a shop reports to the queue about its load. docs/integrating.md says what counts, and why.

// Fewer requests than this say nothing about the health of the shop.
const REQUESTS_MIN = 10;

/** Measures the requests of visitors who are in. */
export class LoadMeter {
  #latenciesMs = [];
  #failed = 0;
  #running = new Set();
  #reportedAtMs = performance.now();

  /** Middleware, before all others. The shop sets `request.shopSession` of a visitor who is in. */
  measure = (request, response, next) => {
    const running = { request, begunAtMs: performance.now() };
    this.#running.add(running);
    response.on("close", () => {
      this.#running.delete(running);
      if (!request.shopSession) return;
      this.#latenciesMs.push(performance.now() - running.begunAtMs);
      if (response.statusCode >= 500) this.#failed++;
    });
    next();
  };

  /** The report of the time since the last one. */
  takeReport() {
    const [latenciesMs, failed, sinceMs, nowMs] = [this.#latenciesMs, this.#failed, this.#reportedAtMs, performance.now()];
    [this.#latenciesMs, this.#failed, this.#reportedAtMs] = [[], 0, nowMs];
    // A request that has run for all of the time counts, or a shop that hangs would report that it is fast.
    const hanging = [...this.#running].filter(({ request, begunAtMs }) => request.shopSession && begunAtMs <= sinceMs);
    const felt = [...latenciesMs, ...hanging.map(({ begunAtMs }) => nowMs - begunAtMs)].sort((one, other) => one - other);
    return {
      tps: Math.round((latenciesMs.length * 1_000) / Math.max(1, nowMs - sinceMs)),
      latency_ms: Math.round(felt[Math.ceil(felt.length * 0.95) - 1] ?? 0),
      healthy: latenciesMs.length < REQUESTS_MIN || failed * 2 <= latenciesMs.length,
    };
  }
}
