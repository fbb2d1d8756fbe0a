import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./step.ts";

/**
 * Test files that run in one process, one after the other: it starts once, what it has compiled and what it
 * forks from (test/support/nursery.ts) serves all of them. Only in a normal run of several files; in a long
 * run each has a process.
 */
export interface Pack {
  /** What Node runs: the file itself if it is alone. */
  readonly program: string;
  readonly title: string;
  /** Paths in the project. */
  readonly files: readonly string[];
}

/** The files that are packed, by folder, and how many at most: those that leave nothing in a process. */
const PACKED: readonly (readonly [names: RegExp, most: number])[] = [
  [/^(src)\/(?:(?:cli|commit|config|core|sandboxes|serve|store|strategies|system|testing)\/|[^/]+$)/, 25],
  [/^(test\/library)\//, 6],
];

/** What would reach the other tests of a process: hooks of a whole file, and a changed environment. */
const REACHES_OTHERS =
  /^(?:before|after)(?:Each)?\(|process\.env\["\w+"\] = |delete process\.env|assign\(process\.env/m;

/** The files in packs, in the order of the first of each; a pack's program is written to this folder. */
export function packsOf(files: readonly string[], folder: string): readonly Pack[] {
  const packs: string[][] = [];
  const open = new Map<string, string[]>();
  for (const file of files) {
    const [key, most] = packOf(file);
    const pack = open.get(key);
    if (pack !== undefined && pack.length < most) {
      pack.push(file);
      continue;
    }
    const begun = [file];
    packs.push(begun);
    open.set(key, begun);
  }
  return packs.map((pack, at) => (pack.length === 1 ? alone(pack[0] as string) : written(pack, at, folder)));
}

/** A file as it is. */
export function alone(file: string): Pack {
  return { program: join(root, file), title: file, files: [file] };
}

/** With whom a file may run, and with how many. */
function packOf(file: string): readonly [key: string, most: number] {
  for (const [names, most] of PACKED) {
    const [, key] = names.exec(file) ?? [];
    if (key !== undefined && !REACHES_OTHERS.test(readFileSync(join(root, file), "utf8"))) return [key, most];
  }
  return [file, 1];
}

function written(files: readonly string[], at: number, folder: string): Pack {
  const program = join(folder, `pack-${at}.test.mjs`);
  const imports = files.map(
    (file) => `await import(${JSON.stringify(pathToFileURL(join(root, file)).href)});`,
  );
  writeFileSync(program, `${imports.join("\n")}\n`);
  return { program, title: `${files[0]} and ${files.length - 1} more`, files };
}
