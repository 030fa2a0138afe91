// The loop of docs/client.md for clients in other languages, run as it stands there.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { transform } from "esbuild";

const guide = await readFile(new URL("../../../docs/client.md", import.meta.url), "utf8");
const source = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code).find((code) => code.includes("waitForTurn"));
const { code } = await transform(source, { loader: "ts" });
const address = `data:text/javascript,${encodeURIComponent(code)}`;

/** Runs the loop against answers, and returns for how many milliseconds it sleeps after each. The last one has a pass. */
async function sleepsAfter(...answers) {
  const pausesMs = [];
  Object.assign(globalThis, {
    store: { visitor: "v", token: "" },
    sleep: async (ms) => pausesMs.push(ms),
    isAppInForeground: () => true,
    fetch: async () => {
      const [status, body, headers] = answers.shift() ?? [200, { token: "t", state: "active", pass: "p" }];
      return new Response(JSON.stringify(body), { status, headers });
    },
  });
  const { waitForTurn } = await import(address);
  assert.equal(await waitForTurn(), "p");
  return pausesMs;
}

const MONTH = { "Retry-After": "2592000" };
const waiting = (retry_after_ms) => [200, { token: "t", state: "waiting", retry_after_ms }];

test("the sample of the guide waits for ten minutes at most before it has a place", async () => {
  for (const seconds of ["2592000", "1e999", "-1", "soon"]) {
    const [ms] = await sleepsAfter([503, {}, { "Retry-After": seconds }]);
    assert.ok(ms >= 0 && ms <= 600_000, `${seconds}: ${ms} ms`);
  }
});

test("the sample of the guide loses no turn by a Retry-After", async () => {
  for (const retryMs of [250, 5_000, 20_000]) {
    const [, ...pausesMs] = await sleepsAfter(waiting(retryMs), ...Array(8).fill([503, {}, MONTH]));
    assert.equal(pausesMs.length, 8);
    // Two thirds of claim_seconds, which is 10 or more.
    for (const ms of pausesMs) assert.ok(ms >= 0.7 * retryMs && ms <= Math.max(6_667, retryMs), `${retryMs}: ${ms} ms`);
  }
});

test("the sample of the guide asks with a pause and in time, whatever retry_after_ms is", async () => {
  for (const retryMs of [0, -9, 1e300, null, "soon"]) {
    for (const ms of await sleepsAfter(waiting(retryMs))) assert.ok(ms >= 250 && ms <= 600_000, `${retryMs}: ${ms} ms`);
  }
});
