// Builds the package:
//
//   node build.mjs            the bundles, the languages of the element, the list of them for Rust and the declarations into dist/
//   node build.mjs --types    the declarations alone
//   node build.mjs --tests    the unit tests into build/

import { execFileSync } from "node:child_process";
import { readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

import { build, transform } from "esbuild";

import { readSentences, shorten } from "../page/assets.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));

// Members that modules of the library share, and that no caller, server, other tab or browser sees. Their names are
// shortened. A name that is missing here costs some bytes. The tests also run the bundle, in case that a name should
// not be here.
const INTERNAL = `
  addInput announced askSpread atMs attendance changeFollowed changeVisibility chooseForm compare depart describeOther
  documentAgeMs dueMs entry entryAtMs expedite farMs finish followed followLinked forgetEntry holdSeconds isChosen
  isConfirmed isLeader isOffline isOther isOver isPageVisible isReset lead locale lowest markAnswer nearMs newest
  newestSinceAnswer nextRequest post postpone readAccounts readPlace readPlaceOf readSecret readVisitor receive
  receivedAtMs resyncAtMs schedule scheduleAfterEntry selectAccount staleAtMs start startTurn stateAt toText undoUntilMs
  unitFormat wake writeAccounts writePlace writeVisitor
`;

/** The names that a bundle with the sources of the library shortens. */
export const MANGLED = new RegExp(`^(${INTERNAL.trim().split(/\s+/).join("|")})$`);

// Imports a style as a text, without what only its reader needs.
const styleAsText = {
  name: "style",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, "utf8"), { loader: "css", minify: true });
      return { contents: code.trim().replaceAll(", ", ","), loader: "text" };
    });
  },
};

// What the element says: its name in the element and, where it is another one, the key in web/lang.
const LINE_KEYS = `
  about accountLead blocked cancelled completed ended evicted finished gone identity-missing invalid-ticket joining leaving
  leavingLead left loop lost offline overlong paused refusedLead shut sold_out ticket-required unknown unknown-queue waiting
  claim=enter confirm=leave cost=leaveCostHere join keep=undo leave question=leaveTitle stay=undo target=shop undo
  ready=turn active=in failed=refused closed=joining stored=hint unstored=hintTab
  queue-closed=closed queue-draining=closed unknown-entry=resetLead token-owner-mismatch=resetLead
`;
// What it says in a session instead.
const SESSION_KEYS = `
  confirm=done cost=doneCost leave=done leaving=finishing leavingLead=finishingLead left=completed
  question=doneTitle stay=resume undo=resume
`;

function pickSentences(file, keys) {
  const entries = keys.trim().split(/\s+/).map((entry) => entry.split("="));
  return Object.fromEntries(entries.map(([name, key = name]) => [name, file[key]]));
}

/** Reads the sentences that the element says, in all languages by tag. `session` has those of an active session. */
export async function readElementSentences() {
  const describe = (file) => ({
    ...pickSentences(file, LINE_KEYS),
    // The element names no account.
    account: file.accountGo.replace("{n}", file.accountOther),
    session: pickSentences(file, SESSION_KEYS),
  });
  const languages = Object.entries(await readSentences(`${folder}../lang`));
  return Object.fromEntries(languages.map(([tag, file]) => [tag, describe(file)]));
}

/** Resolves "virtual:sentences": English, and for each other language what loads it from its file beside the element. */
export function sentencesPlugin({ en, ...others }) {
  const loaders = Object.keys(others).map((tag) => `"${tag}": () => import("./lang-${tag}.js")`);
  const contents = `export const ENGLISH = ${JSON.stringify(en)}, LOADERS = { ${loaders.join(", ")} };`;
  return {
    name: "sentences",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^virtual:sentences$/ }, () => ({ path: "sentences", namespace: "virtual", sideEffects: false }));
      onResolve({ filter: /^\.\/lang-/, namespace: "virtual" }, ({ path }) => ({ path, external: true }));
      onLoad({ filter: /.*/, namespace: "virtual" }, () => ({ contents }));
    },
  };
}

// The scripts as a constant of Rust, for the runner, which serves them: address and text.
const describeScripts = (names) => `// The scripts of the client library: address and text. web/client/build.mjs makes this file.
&[
${names.map((name) => `    ("/${name}", include_str!("${name}")),`).join("\n")}
]
`;

/** Builds the bundles, and the languages of the element. With `write: false`, the result has their texts. */
export async function buildBundles({ write }) {
  const sentences = await readElementSentences();
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: ["vestibule", "element", "closing", "hand_over"].map((name) => `src/${name}.ts`),
    outdir: "dist",
    // The element and a page share one library and one guard against loops.
    external: ["./vestibule.js", "./hand_over.js"],
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    charset: "utf8",
    mangleProps: MANGLED,
    plugins: [styleAsText, sentencesPlugin(sentences)],
    write: false,
  });
  const { en, ...others } = sentences;
  const languages = Object.entries(others).map(([tag, texts]) => ({
    path: `${folder}dist/lang-${tag}.js`,
    text: `export default ${JSON.stringify(texts)};\n`,
  }));
  const bundles = outputFiles.map(async ({ path, text }) => ({ path, text: `${await shorten(text)}\n` }));
  const files = [...(await Promise.all(bundles)), ...languages];
  files.push({ path: `${folder}dist/scripts.rs`, text: describeScripts(files.map(({ path }) => basename(path))) });
  if (write) await Promise.all(files.map(({ path, text }) => writeFile(path, text)));
  return { outputFiles: files };
}

/** Builds the declarations of what package.json exports, and of what these import, into a folder. */
export async function buildDeclarations(target) {
  const compiler = fileURLToPath(new URL("node_modules/typescript/bin/tsc", import.meta.url));
  const options = ["--noEmit", "false", "--declaration", "--emitDeclarationOnly", "--outDir", target];
  await rm(target, { recursive: true, force: true });
  execFileSync(process.execPath, [compiler, "--project", ".", ...options], { cwd: folder, stdio: "inherit" });
  const { exports } = JSON.parse(await readFile(`${folder}package.json`, "utf8"));
  const needed = new Set(Object.values(exports).flatMap(({ types }) => types?.match(/\w+(?=\.d\.ts$)/) ?? []));
  // A set goes on with what is added meanwhile.
  for (const name of needed) {
    const text = await readFile(`${target}/${name}.d.ts`, "utf8");
    for (const [, imported] of text.matchAll(/"\.\/(\w+)\.js"/g)) needed.add(imported);
  }
  const isNeeded = (file) => needed.has(file.replace(".d.ts", ""));
  for (const file of await readdir(target)) if (!isNeeded(file)) await rm(`${target}/${file}`);
}

/** Builds the unit tests of a folder into its build/. */
export async function buildUnitTests(folder, plugins = []) {
  await rm(`${folder}build`, { recursive: true, force: true });
  const names = (await readdir(`${folder}tests`)).filter((name) => name.endsWith(".test.ts"));
  await build({
    absWorkingDir: folder,
    entryPoints: names.map((name) => `tests/${name}`),
    outdir: "build",
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    sourcemap: "inline",
    plugins,
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes("--tests")) {
    await buildUnitTests(folder, [styleAsText, sentencesPlugin(await readElementSentences())]);
  } else {
    if (!process.argv.includes("--types")) await buildBundles({ write: true });
    await buildDeclarations(`${folder}dist/types`);
  }
}
