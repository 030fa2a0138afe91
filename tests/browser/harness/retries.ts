// Writes the names of the tests that passed only the second time into the file of `.ci/run`, which ends with them.

import { appendFileSync } from "node:fs";

import type { Reporter, TestCase, TestResult } from "@playwright/test/reporter";

export default class Retries implements Reporter {
  onTestEnd(test: TestCase, result: TestResult): void {
    const report = process.env["VESTIBULE_REPORT"];
    if (report && result.retry > 0 && result.status === "passed") {
      appendFileSync(report, `retried: browser ${test.titlePath().filter(Boolean).join(" › ")}\n`);
    }
  }
}
