import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { buildPage } from "./build-page.ts";
import { exportValues } from "./bundle-exports.ts";
import { fewFiles } from "./bundle-pieces.ts";
import { directBuiltins, englishOnly, plainFlags } from "./bundle-plugins.ts";
import { makeDeclarations, PUBLIC_ENTRIES } from "./declarations.ts";
import { manPage } from "./man-page.ts";

/**
 * Builds dist/:
 * - program/, the command line and the library: one file for each public entry and the chunks that they
 *   share. All come from one call of esbuild: a class that two of them use is in a chunk of its own, so a
 *   strategy that imports "drydock-sandbox/strategy" meets the same classes as the command line.
 *   bin/compiled.cjs loads them, which it can only do with the older kind of modules.
 * - index.js, strategy.js and the other public entries, which export from there, and victim.js, the process
 *   that the conformance suite kills.
 * - channel.js, the process that answers commands inside, and detached.js, which keeps a detached command.
 * - opencode.js, the plugin of opencode, which runs in Bun: a file that imports Node's modules and nothing
 *   else.
 * - holder.js, the program that holds transactions, with the drivers that it needs.
 * - page/, the page of reviews (build-page.ts).
 * - launcher.cjs, which starts program/launch.js, the program that becomes a command.
 * - types/, the declarations of the public entries (declarations.ts).
 * - man/drydock.1, the man page, from docs/cli.md (man-page.ts).
 * - .compile-cache/, see bin/compiled.cjs; filled here, so that the first command is as fast as the second.
 *   Not packed.
 *
 * It is made beside dist/ and then moved into place: a failed build leaves the old one, and no command meets
 * half of one.
 */
const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

/** The entries that share the program; opencode's does not, because the program does not run in Bun. */
const { opencode: OPENCODE, ...SHARING_ENTRIES } = PUBLIC_ENTRIES;

const ENTRIES = {
  ...SHARING_ENTRIES,
  cli: "src/cli/main.ts",
  victim: "src/testing/process/victim-main.ts",
  channel: "src/serve/channel/channel-main.ts",
  detached: "src/detached/detached-main.ts",
} as const;

/**
 * A process of its own that speaks to the others by a socket, and shares no class with them; only it needs
 * the drivers of databases.
 */
const HOLDER = "src/strategies/transaction-rollback/holder/holder-main.ts";

/** The program that becomes a command. It is started for each, so it holds nothing else. */
const LAUNCHER = "src/run/launch/launcher-main.ts";

/** No start takes that long. */
const WARM_UP_MS = 20_000;

/**
 * What a module of the older kind lacks: it does not know where it is, and how Node resolves and imports is
 * known to a module of the newer kind only. Imports of other modules of the program are calls of `$mport`,
 * those of anything else of `$bring`.
 */
const OLDER_KIND = {
  define: {
    "import.meta.url": "drydockFile.url",
    "import.meta.dirname": "__dirname",
    "import.meta.resolve": "drydockResolve",
  },
  banner: {
    js: [
      'const drydockFile={get url(){return require("node:url").pathToFileURL(__filename).href}},',
      'drydockResolve=(name)=>require("../importing.js").resolve(name),',
      '$bring=(url)=>require("../importing.js").bring(url),',
      "$mport=async(name)=>require(name);",
    ].join(""),
  },
  format: "cjs",
} as const;

const IMPORTING = `export const resolve = (name) => import.meta.resolve(name);
export const bring = (url) => import(url);
`;

try {
  await buildAll();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function buildAll(): Promise<void> {
  const missing = [...Object.values(ENTRIES), OPENCODE, HOLDER, LAUNCHER].filter(
    (entry) => !existsSync(join(root, entry)),
  );
  if (missing.length > 0) throw new Error(`Nothing was built: ${missing.join(", ")} is missing.`);
  const fresh = join(root, `dist.new-${process.pid}`);
  const old = `${fresh}-old`;
  try {
    await bundle(fresh);
    writeEntries(fresh);
    await makeDeclarations(root, join(fresh, "types"));
    writeManPage(join(fresh, "man"));
    await buildPage(root, join(fresh, "page"));
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(fresh, dist);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
  }
  warmUp();
}

function writeManPage(folder: string): void {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  mkdirSync(folder);
  writeFileSync(join(folder, "drydock.1"), manPage(readFileSync(join(root, "docs/cli.md"), "utf8"), version));
}

async function bundle(outdir: string): Promise<void> {
  const options = {
    absWorkingDir: root,
    platform: "node",
    target: "node24",
    minifyWhitespace: true,
    minifySyntax: true,
    sourcemap: "linked",
    sourcesContent: false,
    chunkNames: "chunks/[name]-[hash]",
    logLevel: "warning",
  } as const;
  const program = join(outdir, "program");
  const newer = join(outdir, "newer");
  await build({
    ...{
      ...options,
      outdir: newer,
      bundle: true,
      splitting: true,
      format: "esm",
      chunkNames: "[name]-[hash]",
    },
    entryPoints: ENTRIES,
    external: ["koffi"],
    plugins: [fewFiles, directBuiltins, englishOnly, plainFlags],
  });
  const files = readdirSync(newer).filter((name) => name.endsWith(".js"));
  for (const name of files) importByCalls(join(newer, name));
  await build({
    ...{ ...options, ...OLDER_KIND, outdir: program, outbase: newer },
    entryPoints: files.map((name) => join(newer, name)),
  });
  rmSync(newer, { recursive: true });
  exportValues(files.map((name) => join(program, name)));
  await build({
    ...{ ...options, ...OLDER_KIND, outdir: program, bundle: true },
    entryPoints: { launch: LAUNCHER },
    external: ["koffi"],
    plugins: [directBuiltins],
  });
  writeFileSync(join(program, "package.json"), '{ "type": "commonjs" }\n');
  await build({
    ...{ ...options, outdir, bundle: true, format: "esm" },
    entryPoints: { opencode: OPENCODE },
  });
  await build({
    ...{ ...options, outdir, bundle: true, splitting: true, format: "esm" },
    entryPoints: { holder: HOLDER },
    // What the drivers load only where they find it.
    external: ["koffi", "pg-native", "cloudflare:sockets"],
    plugins: [directBuiltins],
  });
}

/**
 * Makes imports calls of functions, whose names are as long as "import", so that the source map stays right.
 */
function importByCalls(file: string): void {
  const text = readFileSync(file, "utf8")
    .replace(/\bimport\("(?=[.]{1,2}[/])/g, '$$mport("')
    .replace(/\bimport\((?=\w)/g, "$$bring(");
  writeFileSync(file, text);
}

/** Writes the files through which others get at the program. */
function writeEntries(outdir: string): void {
  const load = 'import { load } from "../bin/compiled.cjs";\n';
  const require = createRequire(import.meta.url);
  for (const entry of Object.keys(SHARING_ENTRIES)) {
    const names = Object.keys(require(join(outdir, "program", `${entry}.js`)));
    writeFileSync(
      join(outdir, `${entry}.js`),
      `${load}export const { ${names.join(", ")} } = load("${entry}.js");\n`,
    );
  }
  for (const name of ["victim.js", "channel.js", "detached.js"])
    writeFileSync(join(outdir, name), `${load}load("${name}");\n`);
  writeFileSync(join(outdir, "launcher.cjs"), 'require("../bin/compiled.cjs").load("launch.js");\n');
  writeFileSync(join(outdir, "importing.js"), IMPORTING);
}

/**
 * Runs a small command, and one that calls most of the program, in a folder and a state that are thrown away:
 * the code that they compiled is kept. They start as users start them: V8 refuses code that was compiled with
 * other flags.
 */
function warmUp(): void {
  const place = mkdtempSync(join(tmpdir(), "drydock-build-"));
  const folder = join(place, "folder");
  mkdirSync(folder);
  writeFileSync(join(folder, "file"), "old\n");
  const state = ["--state-dir", join(place, "state")];
  const run = ["run", ...state, "--apply", "--", "sh", "-c", "echo new > file"];
  try {
    // The list comes first: what a run has kept would be kept for it too.
    for (const args of [["plan", "list", ...state], run]) {
      const { status, stderr } = spawnSync(join(root, "bin/drydock"), args, {
        ...{ cwd: folder, encoding: "utf8", timeout: WARM_UP_MS, stdio: ["ignore", "ignore", "pipe"] },
      });
      if (status !== 0)
        console.warn(`The first start will be slower, since a warm-up failed: ${stderr.trim()}`);
    }
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}
