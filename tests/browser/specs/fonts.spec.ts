// The page in the fonts of the tests, and in those of a machine that has DejaVu alone. The number of visitors ahead is its
// largest text, and fits whatever the font, the size of texts and the position.

import { chromium, type Page } from "@playwright/test";

import { BOUND_MS, chromiumOptions, type FontList } from "../harness/chromium.js";
import { SCENES, openScene, type Scene } from "../harness/scenes.js";
import * as screens from "../harness/screens.js";
import { expect, test } from "../harness/test.js";

const AHEAD_COUNTS = { en: [128, 88_888, 1_234_567], ar: [1_234_567] };
// The setting of a browser for texts of 100 %.
const TEXT_SIZE_PX = 16;
// The least room above the strip, which has round corners.
const STRIP_ROOM_PX = 8;
const FAMILIES: Record<FontList, string> = { usual: "Noto Sans", wide: "DejaVu Sans" };

for (const fonts of ["usual", "wide"] as const) {
  for (const percent of [100, 200]) {
    test(`number fits at 320 px in ${FAMILIES[fonts]} of ${percent} %`, async ({ servers }) => {
      await withBrowser(fonts, async (open) => {
        for (const language of ["en", "ar"] as const) {
          for (const count of AHEAD_COUNTS[language]) {
            await test.step(`${count} in ${language}`, async () => {
              const page = await open(screens.LOCALES[language]);
              await setTextSize(page, percent);
              await openScene(page, servers.base, inLineBehind(count));
              await expect(page.locator('[data-part="number"]')).toBeVisible();
              await expectWhole(page);
            });
          }
        }
      });
    });
  }
}

test("each script has a real font, which the tests bring", async ({ servers }) => {
  test.setTimeout(8 * BOUND_MS);
  test.skip(process.platform !== "linux", "fontconfig lists the fonts only there");
  const latin = { en: "Noto Sans", de: "Noto Sans", es: "Noto Sans", fr: "Noto Sans" };
  const chinese = { "zh-Hans": "Chocolate Classical Sans", "zh-Hant": "Chocolate Classical Sans" };
  const families: Record<screens.Language, string> = { ...latin, ...chinese, ko: "NanumGothic", ja: "BIZ UDPGothic", ar: "Noto Sans Arabic" };
  await withBrowser("usual", async (open) => {
    for (const [language, family] of Object.entries(families)) {
      const page = await open(screens.LOCALES[language as screens.Language]);
      await openScene(page, servers.base, SCENES["waiting"]!);
      await expect(page.locator("html")).toHaveAttribute("lang", language);
      const drawn = await readFonts(page, "h1");
      expect(drawn, language).toContain(family);
      // No character is drawn in the font of another script. Spaces are Latin.
      expect([family, "Noto Sans"], language).toEqual(expect.arrayContaining(drawn));
    }
  });
  await withBrowser("wide", async (open) => {
    const page = await open();
    await openScene(page, servers.base, SCENES["waiting"]!);
    expect(await readFonts(page, '[data-part="number"]')).toEqual(["DejaVu Sans"]);
  });
});

test("a lost connection hardly shifts a page in DejaVu Sans", async ({ servers }) => {
  await withBrowser("wide", async (open) => {
    const page = await open();
    await openScene(page, servers.base, SCENES["joining"]!);
    const strip = page.locator('[data-part="strip"]');
    await expect(strip).toBeVisible();
    await expectWhole(page);
    expect((await strip.boundingBox())!.y, "the room above the strip").toBeGreaterThanOrEqual(STRIP_ROOM_PX);
  });
});

test("every screen is whole in DejaVu Sans at 320 px @long", async ({ servers }) => {
  test.setTimeout(8 * BOUND_MS);
  await withBrowser("wide", async (open) => {
    for (const [name, scene] of Object.entries(SCENES)) {
      await test.step(name, async () => {
        const page = await open();
        await openScene(page, servers.base, scene);
        await expect(page.locator("body")).toHaveAttribute("data-state", scene.screen);
        await expectWhole(page);
      });
    }
  });
});

// Starts a browser with these fonts. Each page of it is in a window of its own, because a visitor's position never rises.
async function withBrowser(fonts: FontList, use: (open: (locale?: string) => Promise<Page>) => Promise<void>): Promise<void> {
  const browser = await chromium.launch(chromiumOptions([], fonts));
  try {
    await use(async (locale = screens.LOCALES.en) => {
      const page = await browser.newPage({ locale, viewport: screens.SIZES[0] });
      await screens.observeLayoutShift(page);
      return page;
    });
  } finally {
    await browser.close();
  }
}

async function expectWhole(page: Page): Promise<void> {
  await screens.finishAnimations(page);
  await screens.expectNoOverflow(page);
  await screens.expectStill(page);
}

function inLineBehind(count: number): Scene {
  const [answer] = SCENES["waiting"]!.entry;
  return { ...SCENES["waiting"]!, entry: [{ body: { ...answer!.body, position: count + 1, waiting: count + 1_077 } }] };
}

async function setTextSize(page: Page, percent: number): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const sizePx = (TEXT_SIZE_PX * percent) / 100;
  await session.send("Page.setFontSizes", { fontSizes: { standard: sizePx, fixed: sizePx } });
}

/** The families of the fonts in which an element is drawn. */
async function readFonts(page: Page, selector: string): Promise<string[]> {
  await expect(page.locator(selector)).toBeVisible();
  const session = await page.context().newCDPSession(page);
  await session.send("DOM.enable");
  await session.send("CSS.enable");
  const { root } = await session.send("DOM.getDocument");
  const { nodeId } = await session.send("DOM.querySelector", { nodeId: root.nodeId, selector });
  const { fonts } = await session.send("CSS.getPlatformFontsForNode", { nodeId });
  return fonts.map(({ familyName }) => familyName);
}
