// Times in the visitor's locale.

import assert from "node:assert/strict";
import { test } from "node:test";

import { PageFormat } from "../src/format.js";

test("an age is in words, and never of no time", () => {
  const format = new PageFormat("en-US");
  const ages = [0, 4_200, 130_000, 3_600_000, 180_000_000].map((ms) => format.ago(ms));
  assert.deepEqual(ages, ["1 second ago", "4 seconds ago", "2 minutes ago", "1 hour ago", "2 days ago"]);
});

test("a time of another day has its date", () => {
  const format = new PageFormat("en-US");
  assert.match(format.clock(Date.now() + 60_000), /^\d+:\d\d\s[AP]M$/);
  assert.match(format.clock(Date.now() + 50 * 3_600_000), /day, \w+ \d+ at \d+:\d\d/);
  assert.match(format.time(Date.now(), "short"), /M [A-Z]/);
});
