// Pages of other sites that write with requests for which a browser asks no permission.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { ONE_AT_A_TIME } from "../harness/queue.js";
import { expect, test } from "../harness/test.js";

// The API is at `localhost`. To a browser the second host is of the same site, with the visitor's cookie, and another origin.
for (const [kind, host] of [
  ["another site", "127.0.0.1"],
  ["a sibling host", "sibling.localhost"],
] as const) {
  test(`page of ${kind} makes no reader enter, claim or extend`, async ({ page, servers, queue }) => {
    await queue.open(ONE_AT_A_TIME);
    const entries = `${servers.base.replace("127.0.0.1", "localhost")}/queues/${queue.id}/entries`;
    await page.goto(entries);
    const site = createServer((_, response) => response.setHeader("Content-Type", "text/html").end("<title>Prize</title>"));
    await once(site.listen(0, "127.0.0.1"), "listening");
    const sent: number[] = [];
    page.on("response", (response) => response.request().method() === "POST" && sent.push(response.status()));
    await page.goto(`http://${host}:${(site.address() as AddressInfo).port}/`);
    await page.evaluate(async (entries) => {
      const post = (path: string) => fetch(entries + path, { method: "POST", mode: "no-cors", credentials: "include" });
      for (const path of ["", "/AAAAAAAAAAAAAAAAAAAAAA/claim", "/AAAAAAAAAAAAAAAAAAAAAA/extend"]) await post(path);
    }, entries);
    site.close();
    expect(sent).toEqual([403, 403, 403]);
    const { waiting, active } = await queue.run("stats");
    expect([waiting, active]).toEqual([0, 1]);
  });
}
