// Extracts the samples of the documents into build/samples, so that tsc checks them.

import { mkdir, readFile, rm, writeFile } from "node:fs/promises";

const DOCUMENTS = ["../../docs/client.md", "../../docs/integrating.md", "README.md"];
const folder = new URL("build/samples/", import.meta.url);

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
let count = 0;
for (const path of DOCUMENTS) {
  const text = await readFile(new URL(path, import.meta.url), "utf8");
  for (const [, kind, code] of text.matchAll(/^```(js|ts|tsx)\n(.*?)^```$/gms)) {
    // Each sample is a module of its own.
    await writeFile(new URL(`sample_${++count}.${kind}`, folder), `${code}\nexport {};\n`);
  }
}
const config = {
  extends: "../../tsconfig.json",
  compilerOptions: {
    types: ["react"],
    jsx: "react-jsx",
    allowJs: true,
    checkJs: true,
    noUnusedLocals: false,
    paths: {
      "vestibule-client": ["../../dist/types/vestibule.d.ts"],
      "vestibule-client/element": ["../../dist/types/element.d.ts"],
      "vestibule-client/closing": ["../../dist/types/closing.d.ts"],
      "vestibule-client/hand_over": ["../../dist/types/hand_over.d.ts"],
      "vestibule-client/react": ["../../dist/types/react.d.ts"],
    },
  },
  include: ["."],
};
await writeFile(new URL("tsconfig.json", folder), JSON.stringify(config));
console.log(`${count} samples`);
