// Builds the package:
//
//   node build.mjs            the bundles and the declarations into dist/
//   node build.mjs --types    the declarations alone
//   node build.mjs --tests    the unit tests into build/

import { execFileSync } from "node:child_process";
import { readFile, readdir, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const folder = fileURLToPath(new URL(".", import.meta.url));

// Members that modules of the library share, and that no caller, server, other tab or browser sees. Their names are
// shortened. A name that is missing here costs some bytes. The tests also run the bundle, in case that a name should
// not be here.
const INTERNAL = `
  addInput announced atMs attendance changeFollowed changeVisibility compare describeOther documentAgeMs dueMs entry entryAtMs expedite askSpread farMs
  followLinked followed forgetEntry holdSeconds isChosen isConfirmed isLeader isOffline isOther isOver isPageVisible isReset lead lowest markAnswer nearMs newest
  newestSinceAnswer nextRequest postpone readAccounts readPlace readPlaceOf readSecret readVisitor receive receivedAtMs resyncAtMs schedule
  scheduleAfterEntry selectAccount staleAtMs start startTurn stateAt toText wake writeAccounts writePlace writeVisitor
`;

/** The names that a bundle with the sources of the library shortens. */
export const MANGLED = new RegExp(`^(${INTERNAL.trim().split(/\s+/).join("|")})$`);

/** Writes the number of a constant wherever its file names it. The bundler declares a variable instead. */
export const inlineNumbers = {
  name: "numbers",
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/\w+\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const numbers = text.matchAll(/^const ([A-Z_]+) = ([-\d._ *]+);$/gm);
      const inline = (contents, [declaration, name, number]) =>
        contents.replace(declaration, "").replace(new RegExp(`\\b${name}\\b`, "g"), `(${number})`);
      return { contents: [...numbers].reduce(inline, text), loader: "ts" };
    });
  },
};

/** Builds the bundles. With `write: false`, the result has their texts. */
export function buildBundles({ write }) {
  return build({
    absWorkingDir: folder,
    entryPoints: ["src/vestibule.ts", "src/element.ts", "src/closing.ts"],
    outdir: "dist",
    // The element and a page share one library.
    external: ["./vestibule.js"],
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    mangleProps: MANGLED,
    plugins: [inlineNumbers],
    write,
  });
}

async function buildDeclarations() {
  const compiler = fileURLToPath(new URL("node_modules/typescript/bin/tsc", import.meta.url));
  const options = ["--noEmit", "false", "--declaration", "--emitDeclarationOnly", "--outDir", "dist/types"];
  await rm(`${folder}dist/types`, { recursive: true, force: true });
  execFileSync(process.execPath, [compiler, "--project", ".", ...options], { cwd: folder, stdio: "inherit" });
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
    await buildUnitTests(folder);
  } else {
    if (!process.argv.includes("--types")) await buildBundles({ write: true });
    await buildDeclarations();
  }
}
