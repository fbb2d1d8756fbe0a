import { cpSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "./measure.ts";
import { home } from "./places.ts";

const PARTS = [
  "bin",
  "docs",
  "page",
  "schema",
  "scripts",
  "src",
  "package.json",
  "tsconfig.json",
  "tsconfig.build.json",
];

/** Builds the program from the source as it is, in a copy of the project; where that is. */
export function buildProject(): string {
  const root = join(import.meta.dirname, "..");
  const project = join(home, "project");
  mkdirSync(project);
  for (const part of PARTS.filter((name) => existsSync(join(root, name))))
    cpSync(join(root, part), join(project, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(project, "node_modules"));
  runProgram(process.execPath, join(project, "scripts/build.ts"));
  return project;
}
