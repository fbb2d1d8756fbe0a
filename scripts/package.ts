import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { makeDebianPackage } from "./package/debian.ts";
import { addLicences } from "./package/licences.ts";
import { makeTree, manifest, run } from "./package/tree.ts";

/**
 * Packs the last build for machines without Node: `npm run package [-- --out FOLDER]` makes a tar.gz and a
 * Debian package of the same tree, for the processor that it runs on. Of the same commit they are the same to
 * the byte: their times are that of the commit, or SOURCE_DATE_EPOCH. With --tree it makes only the folder
 * that the tar.gz holds.
 */
const root = join(import.meta.dirname, "..");

try {
  const { values } = parseArgs({
    options: {
      out: { type: "string", default: "packages" },
      tree: { type: "boolean", default: false },
      compression: { type: "string", default: "xz" },
    },
  });
  const out = resolve(root, values.out);
  if (!existsSync(join(root, "dist/program/cli.js"))) throw new Error("There is no build: npm run build.");
  mkdirSync(out, { recursive: true });
  const name = `drydock-${manifest.version}-linux-${process.arch}`;
  if (values.tree) makeTree(join(out, name));
  else for (const file of makeArchives(out, name, values.compression)) console.log(file);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

function makeArchives(out: string, name: string, compression: string): readonly string[] {
  const time = process.env["SOURCE_DATE_EPOCH"] ?? run("git", ["log", "-1", "--format=%ct"]).trim();
  const place = mkdtempSync(join(tmpdir(), "drydock-package-"));
  try {
    makeTree(join(place, name));
    addLicences(join(place, name));
    const archive = join(out, `${name}.tar.gz`);
    run("tar", [
      ...["--create", "--file", archive, "--use-compress-program=gzip -n", "--format=gnu", "--sort=name"],
      ...[`--mtime=@${time}`, "--owner=0", "--group=0", "--numeric-owner", "--directory", place, name],
    ]);
    const debian = makeDebianPackage(join(place, name), join(place, "debian"), { out, compression, time });
    return [archive, debian];
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}
