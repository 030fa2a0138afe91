// Writes into the file of `.ci/run`, which ends with it: the tests that passed only the second time, and those that failed,
// with the beginning of their error.

import { appendFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";

import type { Reporter, TestCase, TestResult } from "@playwright/test/reporter";

const ERROR_LINES = 12;

export default class Report implements Reporter {
  onTestEnd(test: TestCase, result: TestResult): void {
    const report = process.env["VESTIBULE_REPORT"];
    if (!report) return;
    const name = test.titlePath().filter(Boolean).join(" › ");
    if (result.status === "passed" && result.retry > 0) appendFileSync(report, `retried: browser ${name}\n`);
    if (test.outcome() === "unexpected" && result.retry === test.retries) {
      const lines = stripVTControlCharacters(result.error?.message ?? result.status).split("\n").map((line) => line.trim());
      appendFileSync(report, `failed: browser ${name}: ${lines.filter(Boolean).slice(0, ERROR_LINES).join(" | ")}\n`);
    }
  }
}
