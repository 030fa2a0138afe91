// All screens of the waiting page: in all languages on a small phone, and in two of them in all colours and widths.

import type { Page } from "@playwright/test";

import { BOUND_MS } from "../harness/chromium.js";
import { SCENES, openScene } from "../harness/scenes.js";
import * as screens from "../harness/screens.js";
import { expect, test } from "../harness/test.js";

// Colours and widths matter to a direction, and not to the words of one language.
const THOROUGH: readonly screens.Language[] = ["en", "ar"];

async function expectGoodScreen(page: Page, language: screens.Language): Promise<void> {
  for (const colorScheme of screens.COLOUR_SCHEMES) {
    await page.emulateMedia({ colorScheme });
    for (const size of screens.SIZES) {
      await page.setViewportSize(size);
      await screens.finishAnimations(page);
      await test.step(`${language} ${colorScheme} ${size.width}`, async () => {
        await screens.expectNoOverflow(page);
        await screens.expectAccessible(page);
      });
    }
  }
}

for (const [name, scene] of Object.entries(SCENES)) {
  test(`screen ${name} is whole in every language, and in every colour and width @long`, async ({ browser, servers }) => {
    test.setTimeout(8 * BOUND_MS);
    for (const language of screens.LANGUAGES) {
      const viewport = screens.SIZES[0];
      const context = await browser.newContext({ locale: screens.LOCALES[language], viewport });
      const page = await context.newPage();
      await screens.observeLayoutShift(page);
      await openScene(page, servers.base, scene);
      await expect(page.locator("html")).toHaveAttribute("lang", language);
      await expect(page.locator("body")).toHaveAttribute("data-state", scene.screen);
      await screens.finishAnimations(page);
      // Before the size changes.
      await screens.expectStill(page);
      await test.step(language, () => screens.expectNoOverflow(page));
      if (THOROUGH.includes(language)) await expectGoodScreen(page, language);
      await context.close();
    }
  });
}
