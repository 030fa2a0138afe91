// The example shops in front of a stack that demands signed requests.

import type { Page } from "@playwright/test";

import { ONE_AT_A_TIME, type TestQueue } from "../harness/queue.js";
import { SHOPS, enterForPass } from "../harness/shop.js";
import { SignatureGate } from "../harness/signature_gate.js";
import { expect, test } from "../harness/test.js";

const REGION = "eu-west-1";
const CREDENTIALS = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "a secret/of+40", sessionToken: "a/token+of=a+role" };

/** The environment of a shop that signs with this secret. */
function describeCredentials(secret: string): string[] {
  return [
    "SIGN_FOR_AWS=1",
    `AWS_REGION=${REGION}`,
    `AWS_ACCESS_KEY_ID=${CREDENTIALS.accessKeyId}`,
    `AWS_SECRET_ACCESS_KEY=${secret}`,
    `AWS_SESSION_TOKEN=${CREDENTIALS.sessionToken}`,
  ];
}

/** Orders as a visitor who is let in at once, after the shop has reported its load. */
async function orderWithPass(page: Page, queue: TestQueue, gate: SignatureGate, address: string): Promise<void> {
  const pass = await enterForPass(queue);
  await expect.poll(() => gate.accepted.length + gate.refused.length).toBeGreaterThan(0);
  await page.goto(`${address}/enter?pass=${pass}&return=/checkout`);
  await page.getByRole("button", { name: "Order" }).click();
}

for (const shop of SHOPS) {
  test.describe(`shop with ${shop.name}`, () => {
    test("signs its requests so that another implementation agrees", async ({ page, servers, queue }) => {
      const gate = await SignatureGate.start(servers.base, CREDENTIALS, REGION);
      await queue.open({ ...ONE_AT_A_TIME, capacity: 2 });
      const use = async (address: string) => {
        await orderWithPass(page, queue, gate, address);
        await expect(page).toHaveTitle("Thank you");
        await expect.poll(() => new Set(gate.accepted)).toEqual(new Set(["load", "validate", "complete"]));
        expect(gate.refused).toEqual([]);
      };
      await shop.run(gate.address, queue, use, describeCredentials(CREDENTIALS.secretAccessKey));
      gate.stop();
    });

    test("keeps the session if its own signature is refused", async ({ page, servers, queue }) => {
      const gate = await SignatureGate.start(servers.base, CREDENTIALS, REGION);
      await queue.open({ ...ONE_AT_A_TIME, capacity: 2 });
      const use = async (address: string) => {
        await orderWithPass(page, queue, gate, address);
        await expect(page.locator("body")).toContainText("Please try again");
        expect(gate.accepted).toEqual([]);
        // The visitor is not at fault.
        await page.goto(`${address}/checkout`);
        await expect(page).toHaveTitle("Checkout");
      };
      await shop.run(gate.address, queue, use, describeCredentials("another secret"));
      gate.stop();
    });
  });
}
