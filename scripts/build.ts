import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { commandsTogether, directBuiltins, englishOnly, fewChunks } from "./bundle-plugins.ts";
import { makeDeclarations, PUBLIC_ENTRIES } from "./declarations.ts";

/**
 * Builds dist/:
 * - cli.js, index.js, strategy.js, strategies.js, testing.js, victim.js (the process that the conformance suite kills) and the chunks that they share. All come from one call of esbuild: a
 *   class that two of them use is in a chunk of its own, so a strategy that imports "drydock/strategy" meets the same
 *   classes as the command line.
 * - holder.js, the program that holds transactions, with the drivers that it needs.
 * - launcher.cjs, the program that becomes a command.
 * - types/, the declarations of the public entries (declarations.ts).
 * - .compile-cache/, see bin/start.cjs; filled here, so that the first command is as fast as the second. Not packed.
 *
 * It is made beside dist/ and then moved into place: a failed build leaves the old one, and no command meets half of one.
 */
const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

const ENTRIES = {
  ...PUBLIC_ENTRIES,
  cli: "src/cli/main.ts",
  victim: "src/testing/victim-main.ts",
} as const;

/** A process of its own that speaks to the others by a socket, and shares no class with them; only it needs the drivers of databases. */
const HOLDER = "src/strategies/transaction-rollback/holder/holder-main.ts";

/** The program that becomes a command. It is started for each, so it holds nothing else. */
const LAUNCHER = "src/run/launcher-main.ts";

/** No start takes that long. */
const WARM_UP_MS = 20_000;

/** What does something by being loaded. */
const PROGRAMS = ["cli.js", "holder.js", "victim.js"];

try {
  await buildAll();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function buildAll(): Promise<void> {
  const missing = [...Object.values(ENTRIES), HOLDER, LAUNCHER].filter((entry) => !existsSync(join(root, entry)));
  if (missing.length > 0) throw new Error(`Nothing was built: ${missing.join(", ")} is missing.`);
  const fresh = join(root, `dist.new-${process.pid}`);
  const old = `${fresh}-old`;
  try {
    await bundle(fresh);
    await makeDeclarations(root, join(fresh, "types"));
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(fresh, dist);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
  }
  warmUp();
}

async function bundle(outdir: string): Promise<void> {
  const options = {
    absWorkingDir: root,
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    minifyWhitespace: true,
    minifySyntax: true,
    // Names of error classes are shown to users.
    keepNames: true,
    sourcemap: "linked",
    sourcesContent: false,
    chunkNames: "chunks/[name]-[hash]",
    logLevel: "warning",
  } as const;
  await build({
    ...options,
    entryPoints: ENTRIES,
    external: ["koffi"],
    plugins: [fewChunks, directBuiltins, englishOnly, commandsTogether],
  });
  await build({
    ...options,
    entryPoints: { holder: HOLDER },
    // What the drivers load only where they find it.
    external: ["koffi", "pg-native", "cloudflare:sockets"],
    plugins: [directBuiltins],
  });
  await build({
    ...options,
    entryPoints: { launcher: LAUNCHER },
    // Node starts a program of the older kind of modules faster, and every command waits for this one.
    format: "cjs",
    splitting: false,
    outExtension: { ".js": ".cjs" },
    define: { "import.meta.url": "drydockUrl" },
    banner: { js: 'const drydockUrl=require("node:url").pathToFileURL(__filename).href;' },
    external: ["koffi"],
  });
}

/** Runs the commonest command once, then loads all the rest, each in a process that keeps what it compiled. */
function warmUp(): void {
  const state = mkdtempSync(join(tmpdir(), "drydock-build-"));
  const loadAll = `
    require("node:module").enableCompileCache(${JSON.stringify(join(dist, ".compile-cache"))});
    for (const file of process.argv.slice(1)) import(file);`;
  const modules = readdirSync(dist, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".js") && !PROGRAMS.includes(name))
    .map((name) => pathToFileURL(join(dist, name)).href);
  try {
    for (const args of [
      [join(root, "bin/start.cjs"), "plan", "list", "--state-dir", state],
      ["-e", loadAll, ...modules],
      [join(dist, "launcher.cjs")],
    ]) {
      const { status, stderr } = spawnSync(process.execPath, args, {
        ...{ cwd: state, encoding: "utf8", timeout: WARM_UP_MS },
        // A launcher reads at its descriptor 3, and ends when there is nothing.
        stdio: ["ignore", "pipe", "pipe", openSync(join(state, "control"), "w+")],
        env: { ...process.env, NODE_COMPILE_CACHE: join(dist, ".compile-cache") },
      });
      if (status !== 0) console.warn(`The first start will be slower, since a warm-up failed: ${stderr.trim()}`);
    }
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
}
