import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { buildSync } from "esbuild";

const root = join(import.meta.dirname, "../..");
const bundles = new Map<string, string>();

/**
 * A program of the tests, by its path in the project, bundled once for each run of the tests, or for each
 * test process where that is all that runs: it then starts in a third of the time. Beneath node_modules,
 * where it finds koffi.
 */
export function bundledProgram(source: string): string {
  const known = bundles.get(source);
  if (known !== undefined) return known;
  const name = basename(source, ".ts");
  const shared = process.env["DRYDOCK_TEST_BUNDLES"];
  const outfile = join(shared ?? ownFolder(name), `${name}.mjs`);
  if (shared === undefined) bundle(source, outfile);
  else if (!existsSync(outfile)) bundleForAll(source, outfile);
  bundles.set(source, outfile);
  return outfile;
}

/** Another test process may make the same one, and what is there has to be whole. */
function bundleForAll(source: string, outfile: string): void {
  const making = `${outfile}.${process.pid}`;
  bundle(source, making);
  renameSync(making, outfile);
}

function ownFolder(name: string): string {
  const folder = join(root, "node_modules/.cache", `drydock-${name}-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function bundle(source: string, outfile: string): void {
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
}
