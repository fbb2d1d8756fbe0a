import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manifest, run } from "./tree.ts";

const root = join(import.meta.dirname, "../..");

/** What is bundled into the page of the review: packages for development, since no program loads them. */
const OF_THE_PAGE = ["preact", "@preact/signals", "shiki"];

interface Locked {
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: { readonly [name: string]: string };
}

/** Writes the licences of everything that the tree holds besides the project itself, Node's first. */
export function addLicences(tree: string): void {
  const texts = [`Node.js ${process.versions.node}\n\n${licenceOfNode()}`];
  for (const [name, { version, license }] of packagesInside()) {
    const folder = join(root, "node_modules", name);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), "utf8");
    texts.push(`${name} ${version}\n\n${text.trim()}`);
  }
  writeFileSync(join(tree, "THIRD-PARTY-LICENCES"), `${texts.join(`\n\n${"-".repeat(80)}\n\n`)}\n`);
}

/** The packages of the bundle, by the lock file. */
function packagesInside(): [string, Locked][] {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const packages: { readonly [path: string]: Locked } = lock.packages;
  const found = new Map<string, Locked>();
  const waiting = [...Object.keys(manifest.dependencies), ...OF_THE_PAGE];
  for (const name of waiting) {
    const locked = packages[`node_modules/${name}`];
    if (locked === undefined || found.has(name) || !existsSync(join(root, "node_modules", name))) continue;
    found.set(name, locked);
    waiting.push(...Object.keys(locked.dependencies ?? {}));
  }
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1));
}

/** npm's package of Node has it beside the binary, of which the project installs only that. */
function licenceOfNode(): string {
  const place = mkdtempSync(join(tmpdir(), "drydock-package-"));
  try {
    const name = `node-linux-${process.arch}@${process.versions.node}`;
    run("npm", ["pack", "--silent", "--prefer-offline", "--pack-destination", place, name]);
    const [tarball = ""] = readdirSync(place);
    return run("tar", ["-xzOf", join(place, tarball), "package/LICENSE"]);
  } finally {
    rmSync(place, { recursive: true });
  }
}
