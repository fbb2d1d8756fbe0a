import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/**
 * Checks the import rule. dependency-cruiser passes when it finds no file at all, as it does with a
 * TypeScript that it can't use, so what it looked at is checked too.
 */
const root = join(import.meta.dirname, "..");
const depcruise = join(root, "node_modules/dependency-cruiser/bin/dependency-cruiser.mjs");
const FOLDERS = ["src", "page"].filter((folder) => existsSync(join(root, folder)));
const { status, stdout, stderr } = spawnSync(
  process.execPath,
  [depcruise, "--config", ".dependency-cruiser.cjs", "--output-type", "err-long", ...FOLDERS],
  { cwd: root, encoding: "utf8" },
);
const looked = Number(/\((\d+) modules?/.exec(stdout)?.[1] ?? 0);

console.log(`${stdout}${stderr}`.trimEnd());
if (looked === 0)
  console.error("No file was looked at: dependency-cruiser needs TypeScript 6 to read TypeScript.");
process.exitCode = status === 0 && looked > 0 ? 0 : 1;
