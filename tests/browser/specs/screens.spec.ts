// Every screen of the waiting page once, with the language, the colours and the width in turn.

import type { Page } from "@playwright/test";

import { SCENES, openScene, type Scene } from "../harness/scenes.js";
import * as screens from "../harness/screens.js";
import { expect, test } from "../harness/test.js";

const names = Object.keys(SCENES);

async function open(page: Page, base: string, name: string): Promise<Scene> {
  const scene = SCENES[name]!;
  await screens.observeLayoutShift(page);
  await openScene(page, base, scene);
  await expect(page.locator("body")).toHaveAttribute("data-state", scene.screen);
  return scene;
}

for (const [n, name] of names.entries()) {
  const language = screens.LANGUAGES[n % screens.LANGUAGES.length]!;
  const colorScheme = screens.COLOUR_SCHEMES[Math.floor(n / 2) % 2]!;
  // Nine languages would each have the same of three sizes.
  const viewport = screens.SIZES[(n + Math.floor(n / screens.LANGUAGES.length)) % screens.SIZES.length]!;

  test.describe(`screen ${name}`, () => {
    test.use({ locale: screens.LOCALES[language], colorScheme, viewport });

    test(`is whole in ${language}, ${colorScheme}, at ${viewport.width} px`, async ({ page, servers }) => {
      const { text } = await open(page, servers.base, name);
      if (language === "en") await expect(page.locator("body")).toContainText(text, { useInnerText: true });
      await expect(page.locator("html")).toHaveAttribute("lang", language);
      await expect(page.locator("html")).toHaveAttribute("dir", language === "ar" ? "rtl" : "ltr");
      await screens.finishAnimations(page);
      await screens.expectNoOverflow(page);
      await screens.expectAccessible(page);
      await screens.expectStill(page);
    });
  });

  if (language !== "en") {
    test(`screen ${name} says so in English @long`, async ({ page, servers }) => {
      const { text } = await open(page, servers.base, name);
      await expect(page.locator("body")).toContainText(text, { useInnerText: true });
    });
  }
}

// The longest words stand on buttons and in the countdown of days.
const NARROW = ["waiting", "leaving", "ending", "days"];

for (const language of screens.LANGUAGES) {
  test.describe(`screens in ${language}`, () => {
    test.use({ locale: screens.LOCALES[language], viewport: screens.SIZES[0] });

    test(`are whole at 320 px in ${language}`, async ({ browser, servers }, { project }) => {
      for (const name of NARROW) {
        const context = await browser.newContext(project.use);
        const page = await context.newPage();
        await open(page, servers.base, name);
        await expect(page.locator("html")).toHaveAttribute("lang", language);
        await screens.finishAnimations(page);
        await test.step(name, () => screens.expectNoOverflow(page));
        if (name !== NARROW.at(-1)) await screens.expectAccessible(page);
        await context.close();
      }
    });
  });
}

// The public document alone says that the queue has not opened. The visitor's place comes with the second answer.
for (const name of ["draw", "scheduled"]) {
  test(`screen ${name} does not jump when the place comes late`, async ({ page, servers }) => {
    await page.setViewportSize(screens.SIZES[1]);
    await screens.observeLayoutShift(page);
    let openGate = () => {};
    const entryGate = new Promise<void>((resolve) => (openGate = resolve));
    await openScene(page, servers.base, SCENES[name]!, { entryGate });
    await expect(page.locator("body")).toHaveAttribute("data-state", "before");
    await expect(page.locator('[data-part="leave"]')).toBeHidden();
    openGate();
    await expect(page.locator('[data-part="leave"]')).toBeVisible();
    await screens.finishAnimations(page);
    await screens.expectStill(page);
  });
}
