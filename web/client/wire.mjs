// Makes the types of what the web's scripts read: those of the API's answers from docs/openapi.json, and those of the results of
// operators' commands from docs/commands.json:
//
//   node wire.mjs            writes them
//   node wire.mjs --check    fails if one is old

import { readFile, writeFile } from "node:fs/promises";

import openapiTS, { astToString } from "openapi-typescript";

const FILES = [
  { target: "client/src/wire.ts", source: "openapi.json", what: "The answers of the API." },
  { target: "operate/src/wire.ts", source: "commands.json", what: "The results of operators' commands." },
];
const options = { immutable: true, rootTypes: true, rootTypesNoSchemaPrefix: true };

const read = (path) => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

/** The schemas of a document by name. */
function schemasOf(document) {
  // Requests are built where they are sent.
  const schemas = Object.entries(document.components?.schemas ?? document.schemas);
  const answers = schemas.filter(([name]) => !/Request$|^LoadReport$|^EmptyBody$/.test(name));
  // A width means nothing to a number of JavaScript.
  const withoutWidths = (name, value) => (name === "format" ? undefined : value);
  return JSON.parse(JSON.stringify(Object.fromEntries(answers), withoutWidths));
}

/** What each command of a document answers. */
function writeResults({ commands }) {
  const rows = Object.entries(commands).map(([name, { results }]) => `  readonly ${name}: ${results.join(" | ")};\n`);
  return `\n/** What each command answers. */\nexport interface Results {\n${rows.join("")}}\n`;
}

for (const { target, source, what } of FILES) {
  const described = JSON.parse(await read(`docs/${source}`));
  const schemas = schemasOf(described);
  const document = { openapi: "3.0.3", info: { title: what, version: "0" }, paths: {}, components: { schemas } };
  const text = astToString(await openapiTS(document, options));
  // Without paths there is nothing else than the schemas.
  const types = text.replace(/^export type (paths|webhooks|\$defs|operations) = .*\n/gm, "");
  const results = described.commands ? writeResults(described) : "";
  const made = `// ${what} infra/openapi.sh render makes this file of docs/${source}.\n\n${types}${results}`;
  if (!process.argv.includes("--check")) {
    await writeFile(new URL(`../${target}`, import.meta.url), made);
  } else if ((await read(`web/${target}`)) !== made) {
    throw new Error(`web/${target} is old: run infra/openapi.sh render`);
  }
}
