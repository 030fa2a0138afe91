// Makes src/wire.ts, the types of the API's answers, from docs/openapi.json:
//
//   node wire.mjs            writes it
//   node wire.mjs --check    fails if it is old

import { readFile, writeFile } from "node:fs/promises";

import openapiTS, { astToString } from "openapi-typescript";

const HEADER = "// The answers of the API. infra/openapi.sh render makes this file of docs/openapi.json.\n\n";
const target = new URL("src/wire.ts", import.meta.url);

const { openapi, info, components } = JSON.parse(await readFile(new URL("../../docs/openapi.json", import.meta.url), "utf8"));
// Requests are built where they are sent.
const schemas = Object.entries(components.schemas).filter(([name]) => !/Request$|^LoadReport$|^EmptyBody$/.test(name));
// A width means nothing to a number of JavaScript.
const withoutWidths = (name, value) => (name === "format" ? undefined : value);
const plain = JSON.parse(JSON.stringify(Object.fromEntries(schemas), withoutWidths));
const document = { openapi, info, paths: {}, components: { schemas: plain } };
const options = { immutable: true, rootTypes: true, rootTypesNoSchemaPrefix: true };
const text = astToString(await openapiTS(document, options));
// Without paths there is nothing else than the schemas.
const source = `${HEADER}${text.replace(/^export type (paths|webhooks|\$defs|operations) = .*\n/gm, "")}`;

if (process.argv.includes("--check")) {
  if ((await readFile(target, "utf8")) !== source) throw new Error("web/client/src/wire.ts is old: run infra/openapi.sh render");
} else {
  await writeFile(target, source);
}
