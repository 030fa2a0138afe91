// All screens of the waiting page in all languages, colours and widths. One page for each screen: the language menu, the
// emulated colours and the size of the window change it in place, which no visitor needs a reload for either.

import type { Page } from "@playwright/test";

import { BOUND_MS } from "../harness/chromium.js";
import { SCENES, openScene } from "../harness/scenes.js";
import * as screens from "../harness/screens.js";
import { expect, test } from "../harness/test.js";

async function expectGoodScreen(page: Page, screen: string, language: screens.Language): Promise<void> {
  await expect(page.locator("html")).toHaveAttribute("lang", language);
  await expect(page.locator("body")).toHaveAttribute("data-state", screen);
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
  test(`screen ${name} is whole in every language, colour and width @long`, async ({ browser, servers }) => {
    test.setTimeout(8 * BOUND_MS);
    for (const [n, language] of screens.LANGUAGES.entries()) {
      const viewport = screens.SIZES[n % screens.SIZES.length]!;
      const context = await browser.newContext({ locale: screens.LOCALES[language], viewport });
      const page = await context.newPage();
      await screens.observeLayoutShift(page);
      await openScene(page, servers.base, scene);
      await expect(page.locator("body")).toHaveAttribute("data-state", scene.screen);
      await screens.finishAnimations(page);
      // Before the size changes.
      await screens.expectStill(page);
      await expectGoodScreen(page, scene.screen, language);
      await context.close();
    }
  });
}
