// The requests of the console to the server that serves it.

import type { ProblemBody } from "../../client/src/problem.js";
import type { Answer, Command, Detail, Operation, Overview } from "./types.js";

const READ_MS_MAX = 10_000;
// A command such as an eviction may take as long as its function may run.
const COMMAND_MS_MAX = 300_000;

/** The server refused a request, or did not answer it. `problem` is `undefined` if it did not answer. */
export class RequestError extends Error {
  constructor(readonly problem?: ProblemBody) {
    super(problem?.detail ?? problem?.title ?? "the server does not answer");
  }
}

async function request<T>(path: string, timeoutMs: number, init: RequestInit = {}): Promise<T> {
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await fetch(`/operate/${path}`, { cache: "no-store", ...init, signal }).catch(() => {
    throw new RequestError();
  });
  const body = await response.json().catch(() => undefined);
  if (response.ok && body) return body;
  // A refused command is the answer of the admin function, and any other problem is the answer itself.
  const problem = body?.problem ?? body;
  throw new RequestError(problem?.title || problem?.detail ? problem : { title: `HTTP ${response.status}` });
}

/** Reads all queues. */
export const readOverview = (): Promise<Overview> => request("overview", READ_MS_MAX);

/** Reads one queue. */
export const readQueue = (queue: string): Promise<Detail> => request(`queues/${encodeURIComponent(queue)}`, READ_MS_MAX);

/** Gives a command. A server that does not answer is a problem without a code. */
export async function sendCommand<Op extends Operation>(command: Command<Op>): Promise<Answer<Op>> {
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(command) };
  try {
    return await request<Answer<Op>>("admin", COMMAND_MS_MAX, init);
  } catch (error) {
    const problem = error instanceof RequestError ? (error.problem ?? {}) : { detail: String(error) };
    return { ok: false, problem };
  }
}
