// Times in the operator's locale.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ConsoleFormat } from "../src/format.js";

test("a time has 24 hours, with the day if it is another one", () => {
  const format = new ConsoleFormat("en-US");
  const now = new Date(2026, 10, 27, 23, 0).getTime();
  const inMinutes = (minutes: number) => format.when(now + minutes * 60_000, now);
  assert.equal(inMinutes(57), "23:57");
  assert.equal(inMinutes(99), "Nov 28, 2026, 00:39");
});
