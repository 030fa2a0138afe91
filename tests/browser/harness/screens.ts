// What must hold on every screen of the waiting page: nothing is wider than the window, axe finds no fault, and the layout
// does not jump.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

import { expect, type Page } from "@playwright/test";

/** The languages of the page with a locale of each. */
export const LOCALES = {
  ...{ en: "en-US", ko: "ko-KR", ja: "ja-JP", ar: "ar-EG" },
  ...{ de: "de-DE", es: "es-MX", fr: "fr-CA", "zh-Hans": "zh-CN", "zh-Hant": "zh-HK" },
} as const;
export type Language = keyof typeof LOCALES;
export const LANGUAGES = Object.keys(LOCALES) as Language[];

export const COLOUR_SCHEMES = ["light", "dark"] as const;

/** The sizes of a small phone, a phone and a desktop. */
export const SIZES = [
  { width: 320, height: 720 },
  { width: 390, height: 844 },
  { width: 1440, height: 900 },
] as const;

/** The most that the layout of one visit may shift (Cumulative Layout Shift). */
export const LAYOUT_SHIFT_MAX = 0.05;

const axeSource = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Expects that axe finds no violation. */
export async function expectAccessible(page: Page): Promise<void> {
  // The policy of the page forbids other scripts, and this is none of the page.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(await axeSource);
  const violations = await page.evaluate(async () => {
    const { violations } = await (globalThis as any).axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, nodes }: any) => `${id}: ${nodes.map((node: any) => `${node.html} ${node.failureSummary}`)}`);
  });
  expect(violations).toEqual([]);
}

/** Expects that the page does not scroll sideways and cuts nothing off. */
export async function expectNoOverflow(page: Page): Promise<void> {
  const found = await page.evaluate(() => {
    const { clientWidth, scrollWidth } = document.documentElement;
    const isShown = (element: Element) => element.checkVisibility() && !element.closest(".unseen, svg, select");
    const tooWide = [...document.querySelectorAll("body *")].filter(isShown).filter((element) => {
      const { left, right } = element.getBoundingClientRect();
      // The floor crosses a wide window, beyond the column of the text.
      const isAcross = element.matches("main, .walk");
      return !isAcross && (left < -0.5 || right > clientWidth + 0.5 || element.scrollWidth > element.clientWidth + 1);
    });
    return [scrollWidth > clientWidth ? "the page" : "", ...tooWide.map(({ outerHTML }) => outerHTML.slice(0, 90))].filter(Boolean);
  });
  expect(found, "wider than the window").toEqual([]);
}

/** Measures the layout shift from now on. Call this before the page is opened. */
export async function observeLayoutShift(page: Page): Promise<void> {
  await page.addInitScript(() => {
    (globalThis as any).layoutShift = 0;
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as any[]) if (!entry.hadRecentInput) (globalThis as any).layoutShift += entry.value;
    });
    observer.observe({ type: "layout-shift", buffered: true });
  });
}

/** Expects that the layout has hardly shifted. */
export async function expectStill(page: Page): Promise<void> {
  const shift = await page.evaluate(() => (globalThis as any).layoutShift as number);
  expect(shift, "layout shift").toBeLessThanOrEqual(LAYOUT_SHIFT_MAX);
}

/** Ends all transitions and animations, so that what is measured is final. A change of colours may begin one late. */
export async function finishAnimations(page: Page): Promise<void> {
  for (let n = 0; n < 2; n++) {
    await page.evaluate(() => document.getAnimations().forEach((animation) => animation.effect?.getTiming().iterations === Infinity || animation.finish()));
  }
}
