// The requests of a visitor to the API of one queue.

import type { ProblemBody } from "./problem.js";
import type { Follower } from "./follower.js";
import type { Answer, FollowerRequest } from "./request.js";
import type { QueueOptions } from "./types.js";

// The timeout of a request, without the hold. With the longest hold, API Gateway has given up by then.
const ANSWER_TIMEOUT_MS = 10_000;

/**
 * Sends a request. Never rejects. `controller` can abort it, and `visitor` is empty as long as the visitor has no id.
 */
export type Send = (
  request: Omit<FollowerRequest, "atMs">,
  place: Pick<Follower, "token" | "entry">,
  visitor: string,
  controller: AbortController,
  body?: object,
) => Promise<Answer>;

/**
 * Returns the function that sends the requests to the API at `base`. `isOther`: they are of another account than that of the
 * options.
 */
export function createSend(
  { queue, fetch = globalThis.fetch, headers, ticket }: QueueOptions,
  base: string,
  isOther: () => boolean,
): Send {
  const address = `${base}/queues/${encodeURIComponent(queue)}`;
  let isWarned = false;

  return async ({ kind, holdSeconds = 0 }, { token, entry }, visitor, controller, requestBody = {}) => {
    const { signal } = controller;
    const timer = setTimeout(() => controller.abort(), holdSeconds * 1_000 + ANSWER_TIMEOUT_MS);
    let response: Response | undefined;
    let body: ProblemBody = {};
    let isOk = false;
    let cause: unknown;

    // The visit keeps a late repetition from ending the next one.
    const leave = `/${token}?visit=${entry?.visit}`;
    const [path = `/${token}/${kind}`, method = "POST"] = {
      enter: [""],
      status: [`/${token}?wait=${holdSeconds}`, "GET"],
      leave: [leave, "DELETE"],
      close: [`${leave}&closed=true`, "DELETE"],
    }[kind as string] ?? [];
    const readAnswer = async () => {
      const sent = kind === "enter" ? { ticket: typeof ticket === "function" ? await ticket() : ticket } : requestBody;
      // A request for the document has no header and no credentials, so that any cache may answer it, and a browser sends no
      // preflight to another origin.
      response = await (kind === "document"
        ? fetch(address, { credentials: "omit", signal })
        : fetch(`${address}/entries${path}`, {
            method,
            headers: {
              "Content-Type": "application/json",
              ...(visitor && { "X-Visitor-Id": visitor }),
              ...(await headers?.(isOther())),
            },
            body: method === "POST" ? JSON.stringify(sent) : null,
            keepalive: kind === "close",
            signal,
          }));
      if (response.status !== 204) body = Object(await response.json());
      // A proxy may answer 200 with JSON of its own.
      isOk = response.ok && !!(kind === "leave" || (body.state && (body.token || body.lanes)));
    };

    try {
      // `fetch` may ignore the signal, and `headers` does not know it.
      await Promise.race([readAnswer(), new Promise((_, reject) => signal.addEventListener("abort", reject))]);
    } catch (error) {
      // There is no answer, or one that is not from the API.
      cause = error;
    }
    clearTimeout(timer);
    // Neither a late answer nor one that is no longer needed is the integrator's mistake.
    if (!isOk && !body.code && !signal.aborted && !isWarned) {
      isWarned = true;
      console.warn("No answer of the API", address, cause ?? response?.status);
    }
    // Retry-After has whole seconds. A proxy may send a date instead. The client ignores it, because it could compare a
    // date only with the visitor's clock.
    const seconds = Number(response?.headers.get("Retry-After"));
    const retryAfterMs = seconds > 0 ? seconds * 1_000 : undefined;
    return { kind, isOk, status: response?.status ?? 0, body, retryAfterMs, cause };
  };
}
