import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** What of koffi its binary needs beside it; the rest is its source. */
const OF_KOFFI = [
  "package.json",
  "LICENSE.txt",
  "index.cjs",
  "index.js",
  "indirect.cjs",
  "indirect.js",
  "lib",
];

/** The manifest of the project. */
export const manifest: {
  readonly version: string;
  readonly dependencies: { readonly [name: string]: string };
} = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/**
 * Makes the folder that is shipped: what the npm package holds, with Node and koffi, where the launcher and
 * the program look for them. Everything else is in the bundle.
 */
export function makeTree(tree: string): void {
  const place = mkdtempSync(join(tmpdir(), "drydock-package-"));
  try {
    run("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", place]);
    const [tarball = ""] = readdirSync(place);
    mkdirSync(tree, { recursive: true });
    run("tar", ["-xzf", join(place, tarball), "-C", tree, "--strip-components=1"]);
  } finally {
    rmSync(place, { recursive: true });
  }
  const packages = join(root, "node_modules");
  const copy = (path: string) =>
    cpSync(join(packages, path), join(tree, "node_modules", path), { recursive: true });
  copy("node/bin/node");
  for (const name of OF_KOFFI) copy(`koffi/${name}`);
  copy(`@koromix/koffi-linux-${process.arch}`);
  settleModes(tree);
}

/** Gives every entry the mode that it has on each machine that builds this, whatever umask is there. */
export function settleModes(folder: string): void {
  chmodSync(folder, 0o755);
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const path = join(folder, name);
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) continue;
    chmodSync(path, stats.isDirectory() || (stats.mode & 0o100) !== 0 ? 0o755 : 0o644);
  }
}

/** Runs a program that must succeed, in the project, and returns what it printed. */
export function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, ...env },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`${program} ${args[0]} failed: ${error?.message ?? stderr}`);
  return stdout;
}
