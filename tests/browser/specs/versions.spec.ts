// Two versions of the page beside each other, as while a deployment shifts the traffic.

import { createHash } from "node:crypto";

import type { Page } from "@playwright/test";

import { SCENES, openScene } from "../harness/scenes.js";
import { expect, test } from "../harness/test.js";

const VISITS = 200;
const CACHE_MS = 60_000;

interface Version {
  readonly html: string;
  readonly headers: Record<string, string>;
}

/** The page of the runner, and another version of it: its script differs, and so do the names of files with a hash. */
async function readVersions(page: Page, base: string): Promise<[Version, Version]> {
  const answer = await page.request.get(`${base}/`);
  const html = await answer.text();
  const headers = answer.headers();
  const changed = html.replace(/-([0-9a-f]{10})\./g, "-2$1.").replace(/(<script type=module[^>]*>)/, "$1;");
  const [, before] = html.match(/<script type=module[^>]*>(.*?)<\/script>/s)!;
  const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const policy = headers["content-security-policy"]!.replace(hash(before!), hash(`;${before}`));
  return [{ html, headers }, { html: changed, headers: { ...headers, "content-security-policy": policy } }];
}

for (const share of [0.1, 0.5]) {
  for (const isCached of [false, true]) {
    test(`@long none of ${VISITS} visits is blank with ${share * 100} % of a new version, ${isCached ? "with" : "without"} a cache`, async ({ page, servers }) => {
      test.setTimeout(600_000);
      const versions = await readVersions(page, servers.base);
      const draw = () => versions[Math.random() < share ? 1 : 0]!;
      let [cached, untilMs] = [draw(), 0];
      await page.route(`${servers.base}/?*`, (route) => {
        if (!isCached || Date.now() > untilMs) [cached, untilMs] = [draw(), Date.now() + CACHE_MS * Math.random()];
        return route.fulfill({ body: cached.html, headers: cached.headers });
      });
      // A version has its own files only.
      await page.route(/\/assets\//, (route) => {
        const isNew = /-2[0-9a-f]{10}\./.test(route.request().url());
        if (isNew !== (draw() === versions[1])) return route.fulfill({ status: 404 });
        return route.continue({ url: route.request().url().replace(/-2([0-9a-f]{10}\.)/, "-$1") });
      });
      let blank = 0;
      for (let visit = 0; visit < VISITS; visit++) {
        await openScene(page, servers.base, SCENES["waiting"]!);
        const isShown = page.locator("h1", { hasText: "You’re in line" }).waitFor({ timeout: 10_000 });
        blank += await isShown.then(() => 0, () => 1);
        await page.unroute((url) => url.pathname.startsWith("/queues/"));
      }
      expect(blank).toBe(0);
    });
  }
}
