import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";

/** The public entries, each with its source. */
export const PUBLIC_ENTRIES = {
  index: "src/index.ts",
  strategy: "src/strategy.ts",
  strategies: "src/strategies.ts",
  testing: "src/testing/index.ts",
  "ai-sdk": "src/adapters/ai-sdk.ts",
  deepagents: "src/adapters/deepagents.ts",
  opencode: "src/adapters/opencode.ts",
} as const;

/**
 * Makes the declarations that are shipped: a file for each public entry, and what they share. The compiler
 * writes a file for every file of the source that they reach; of these only what the entries mention is
 * taken.
 */
export async function makeDeclarations(root: string, types: string): Promise<void> {
  const raw = `${types}.raw`;
  try {
    compile(root, raw);
    const input = Object.fromEntries(
      Object.entries(PUBLIC_ENTRIES).map(([name, source]) => [name, join(raw, declarationOf(source))]),
    );
    const bundle = await rollup({ input, plugins: [dts()], external: /^(?:node:|ai$|deepagents$)/ });
    await bundle.write({ dir: types, entryFileNames: "[name].d.ts", chunkFileNames: "shared-[hash].d.ts" });
    await bundle.close();
  } finally {
    rmSync(raw, { recursive: true, force: true });
  }
}

function declarationOf(source: string): string {
  return source.replace(/^src\//, "").replace(/[.]ts$/, ".d.ts");
}

/** Emits a declaration for each file, with the extensions of relative imports as they are for a program. */
function compile(root: string, outdir: string): void {
  const tsc = join(root, "node_modules/typescript-7/bin/tsc");
  const { status, stdout } = spawnSync(
    process.execPath,
    [tsc, "-p", "tsconfig.build.json", "--outDir", outdir],
    {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  if (status !== 0) throw new Error(`${stdout}Nothing was built: the declarations can't be made, see above.`);
  for (const name of readdirSync(outdir, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".d.ts")) continue;
    const file = join(outdir, name);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace(/((?:from|import) ?\(?"[.]{1,2}[/][^"]*)[.]ts"/g, '$1.js"'));
  }
}
