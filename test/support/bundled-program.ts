import { mkdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { buildSync } from "esbuild";

const root = join(import.meta.dirname, "../..");
const bundles = new Map<string, string>();

/**
 * A program of the tests, by its path in the project, bundled once for each test process: it then starts in a third of the time. Beneath
 * node_modules, where it finds koffi.
 */
export function bundledProgram(source: string): string {
  const known = bundles.get(source);
  if (known !== undefined) return known;
  const name = basename(source, ".ts");
  const folder = join(root, "node_modules/.cache", `drydock-${name}-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const outfile = join(folder, `${name}.mjs`);
  buildSync({
    absWorkingDir: root,
    entryPoints: [source],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node24",
    external: ["koffi"],
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);',
    },
    keepNames: true,
    // Only coverage asks where a line came from.
    sourcemap: process.env["NODE_V8_COVERAGE"] === undefined ? false : "linked",
    logLevel: "warning",
  });
  bundles.set(source, outfile);
  return outfile;
}
