// Prints the page of the API's reference, complete in one file: Redoc, its licenses, and the document.
//
//   node render.mjs openapi.json

import { readFile } from "node:fs/promises";

const read = (path) => readFile(new URL(path, import.meta.url), "utf8");
const redoc = "node_modules/redoc";
// Redoc would load its logo from here. It shows none that it cannot load.
const LOGO = "https://cdn.redoc.ly/redoc/logo-mini.svg";
const bundle = `${redoc}/bundles/redoc.standalone.js`;

// A script in HTML ends at the first `</script`, but not if `<!--` and `<script` come before. The bundle has them in
// strings and in regular expressions, and `\x3c` is a `<` in both.
const parts = {
  DOCUMENT: JSON.stringify(JSON.parse(await readFile(process.argv[2], "utf8"))).replaceAll("<", "\\u003c"),
  LICENSES: `${await read(`${redoc}/LICENSE`)}\n${await read(`${bundle}.LICENSE.txt`)}`,
  REDOC: (await read(bundle)).replaceAll("<!--", "\\x3c!--").replaceAll(LOGO, "data:,"),
};
for (const [name, text] of Object.entries(parts)) {
  if (text.includes("<!--") || text.includes("</script")) throw new Error(`${name} would break the page`);
}
const page = await read("page.html");
process.stdout.write(page.replace(/%([A-Z]+)%/g, (_, name) => parts[name]));
