// Whether a theme's colours can be told apart, by the contrast of WCAG 2.2 (sections 1.4.3 and 1.4.11):
//
//   node contrast.mjs FOLDER...   names each pair of colours in theme.css of a folder that is too close
//
// The colours are those of the page with those of the theme over them, in light and in dark.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const TEXT = 4.5;
const SHAPE = 3;
const DOOR = "#2a2521";
// Names, foreground, background and the least contrast. The last two are mixed as page.css does.
const PAIRS = [
  ["ink", "paper", TEXT],
  ["ink", "panel", TEXT],
  ["soft", "paper", TEXT],
  ["on-brand", "brand", TEXT],
  ["brand", "paper", SHAPE],
  ["lamp", "the door", SHAPE],
  ["ink", "the light of the turn", TEXT],
  ["warn", "the strip", TEXT],
];

/** Names the pairs of colours that are too close, in both colour schemes. Empty if the theme is good. */
export async function findCloseColours(theme) {
  const page = await readFile(new URL("page.css", import.meta.url), "utf8");
  return ["light", "dark"].flatMap((scheme) => {
    const colours = { ...readTokens(page, scheme), ...readTokens(theme, scheme) };
    colours["the door"] = DOOR;
    colours["the light of the turn"] = mix(colours.lamp, colours.paper, parseFloat(colours.flood) / 100);
    colours["the strip"] = mix(colours.warn, colours.paper, 0.12);
    return PAIRS.flatMap(([front, back, least]) => {
      const found = contrast(colours[front], colours[back]);
      return found >= least ? [] : [`${scheme}: ${front} on ${back} has a contrast of ${found.toFixed(2)}, and needs ${least}`];
    });
  });
}

// The custom properties of :root, without those of the other colour scheme.
function readTokens(css, scheme) {
  const other = scheme === "dark" ? "light" : "dark";
  const text = css
    .replace(/\/\*.*?\*\//gs, "")
    .replace(new RegExp(`@media[^{]*prefers-color-scheme:\\s*${other}[^{]*\\{(?:[^{}]*\\{[^{}]*\\})*[^{}]*\\}`, "g"), "");
  const blocks = [...text.matchAll(/:root\s*\{([^}]*)\}/g)].map(([, block]) => block);
  const pairs = blocks.flatMap((block) => [...block.matchAll(/--([\w-]+)\s*:\s*([^;]+)/g)]);
  return Object.fromEntries(pairs.map(([, name, value]) => [name, value.trim()]));
}

// Red, green and blue from 0 to 1, linear.
function parseColour(text) {
  if (Array.isArray(text)) return text;
  const [, hex] = /^#([\da-f]{3}|[\da-f]{6})$/i.exec(text) ?? [];
  const pairs = hex && (hex.length === 3 ? [...hex].map((digit) => digit + digit) : hex.match(/../g));
  const numbers = pairs?.map((pair) => parseInt(pair, 16)) ?? /^rgb\((\d+)[ ,]+(\d+)[ ,]+(\d+)\)$/.exec(text)?.slice(1).map(Number);
  if (!numbers) throw new Error(`${text} is not a colour that this check reads: write #rrggbb or rgb(r g b)`);
  return numbers.map((number) => number / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
}

const luminance = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;

function contrast(front, back) {
  const [high, low] = [front, back].map((colour) => luminance(parseColour(colour))).sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

// `color-mix(in oklab, …)`, by the matrices of CSS Color 4, section 9.
const TO_LMS = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]];
const FROM_LMS = [[4.0767416621, -3.3077115913, 0.2309699292], [-1.2684380046, 2.6097574011, -0.3413193965], [-0.0041960863, -0.7034186147, 1.707614701]];
const multiply = (matrix, vector) => matrix.map((row) => row.reduce((sum, factor, n) => sum + factor * vector[n], 0));

function mix(first, second, share) {
  // The cube roots mix as the coordinates of Oklab do, because those are linear in them.
  const [a, b] = [first, second].map((colour) => multiply(TO_LMS, parseColour(colour)).map(Math.cbrt));
  return multiply(FROM_LMS, a.map((value, n) => (value * share + b[n] * (1 - share)) ** 3)).map((c) => Math.min(1, Math.max(0, c)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const folder of process.argv.slice(2)) {
    const found = await findCloseColours(await readFile(join(folder, "theme.css"), "utf8"));
    for (const text of found) console.error(`${folder}: ${text}`);
    if (found.length > 0) process.exitCode = 1;
    else console.log(`${folder}: all colours can be told apart`);
  }
}
