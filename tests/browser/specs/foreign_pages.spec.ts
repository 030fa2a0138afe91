// Pages of other sites that write with requests for which a browser asks no permission.

import { ONE_AT_A_TIME } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";

// The second one is a host beside that of the API: to a browser the same site, with the visitor's cookie, and another origin.
for (const [kind, addressOf] of [
  ["another site", () => "http://evil.example/"],
  ["a sibling host", (base: string) => `http://sibling.localhost:${new URL(base).port}/`],
] as const) {
  test(`page of ${kind} makes no reader enter, claim or extend`, async ({ page, servers, queue }) => {
    await queue.open(ONE_AT_A_TIME);
    const api = servers.base.replace("127.0.0.1", "localhost");
    await page.goto(`${api}/queues/${queue.id}/entries`);
    const address = addressOf(api);
    await page.route(address, (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html><title>page</title>" }));
    await page.goto(address);
    const sent = await page.evaluate(async (entries) => {
      const post = (url: string) => fetch(url, { method: "POST", mode: "no-cors", credentials: "include" });
      await Promise.all(["", "/AAAAAAAAAAAAAAAAAAAAAA/claim", "/AAAAAAAAAAAAAAAAAAAAAA/extend"].map((path) => post(entries + path)));
      return true;
    }, `${api}/queues/${queue.id}/entries`);
    expect(sent).toBe(true);
    const stats = await queue.run("stats");
    expect([stats["waiting"], stats["active"]]).toEqual([0, 1]);
  });
}
