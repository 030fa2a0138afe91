// A shop's own look: theme.json beside the page, or nothing. Colours, radius and font are in theme.css.

import { part } from "./view.js";

// The visitor joins after the theme is there, so a slow one is left out.
const THEME_MS_MAX = 3_000;

/** When the page asks before it claims a turn: unless the visitor has just used it, always, or never. */
export type Confirm = "auto" | "always" | "never";

/** What theme.json may have. */
export interface Theme {
  /** The name of the shop. */
  readonly name?: string;
  /** The address of an image in place of the name, relative to the page. */
  readonly logo?: string;
  readonly confirm?: Confirm;
  /** Where a visitor logs in whom the authorizer does not know. `{page}` becomes the address to which the login returns. */
  readonly login?: string;
  /** Links in the footer. `text` is for every language, or has one text for each, with `default`. */
  readonly links?: readonly { readonly href: string; readonly text: string | Readonly<Record<string, string>> }[];
  /** Sentences by language, or by `default`, and then by key. The key `event` is the line above the headline. */
  readonly texts?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Reads the theme of the page's folder. Without one, or if it is no JSON, the page has the default look. */
export async function loadTheme(): Promise<Theme> {
  try {
    const response = await fetch("theme.json", { signal: AbortSignal.timeout(THEME_MS_MAX) });
    return response.ok ? Object(await response.json()) : {};
  } catch {
    return {};
  }
}

/** The tags under which a theme may have a text of a language, the nearest last: `zh` is for `zh-Hant`, too. */
export const themeTags = (language: string): string[] => ["en", "default", language.split("-")[0]!, language];

/** Shows the name or the logo, and the links. */
export function applyTheme({ logo, links = [] }: Theme, name: string, language: string): void {
  const image = part<HTMLImageElement>("logo");
  image.hidden = !logo;
  image.alt = logo ? name : "";
  if (logo) image.src = logo;
  part("brand").textContent = logo ? "" : name;
  const anchors = links.map(({ href, text }) => {
    const anchor = document.createElement("a");
    anchor.href = href;
    anchor.textContent = typeof text === "string" ? text : (themeTags(language).map((tag) => text[tag]).findLast(Boolean) ?? href);
    return anchor;
  });
  part("links").replaceChildren(...anchors);
}
