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

/**
 * The files that are packed, by folder, and how many at most: so many that a pack takes no longer than the
 * longest file that is alone. Those of test/regressions and test/rivals are not: a process that another file
 * had started was seen to hold a sandbox of overlay there.
 */
const PACKED: readonly (readonly [names: RegExp, most: number])[] = [
  [/^(src)\//, 30],
  [/^(test\/(?:end-to-end|library|security))\//, 8],
  [/^(test\/(?:git|properties|serve))\//, 6],
  [/^(test\/(?:adapters|commit|crash|custom|databases|merging|project|run|scenarios))\//, 4],
  [/^(test\/(?:agents|concurrency|power-cut|review))\//, 3],
];

/** What would reach the other tests of a process: hooks of a whole file, and a changed environment. */
const REACHES_OTHERS =
  /^(?:before|after)(?:Each)?\(|process\.env\["\w+"\] = |delete process\.env|assign\(process\.env/m;

/**
 * The files in packs, in the order of the first of each; a pack's program is written to this folder. The
 * files of a folder are dealt out in turn, so that those that take longest are not together.
 */
export function packsOf(files: readonly string[], folder: string): readonly Pack[] {
  const packs = new Map<string, string[]>();
  const dealt = new Map<string, number>();
  const rules = new Map(files.map((file) => [file, packOf(file)]));
  const members = Map.groupBy(files, (file) => rules.get(file)?.[0]);
  for (const [file, [key, most]] of rules) {
    const number = dealt.get(key) ?? 0;
    dealt.set(key, number + 1);
    const hand = `${key} ${number % Math.ceil((members.get(key) ?? []).length / most)}`;
    packs.set(hand, [...(packs.get(hand) ?? []), file]);
  }
  return [...packs.values()].map((pack, at) =>
    pack.length === 1 ? alone(pack[0] as string) : written(pack, at, folder),
  );
}

/** A file as it is. */
export function alone(file: string): Pack {
  return { program: join(root, file), title: file, files: [file] };
}

/** What makes tests. Where only another file does, the report would find none in this one. */
const MAKES_TESTS = /^\s*(?:describe|it)\(/m;

/** With whom a file may run, and with how many. */
function packOf(file: string): readonly [key: string, most: number] {
  const [names, most] = PACKED.find(([names]) => names.test(file)) ?? [];
  const [, key] = names?.exec(file) ?? [];
  if (key === undefined || most === undefined) return [file, 1];
  const text = readFileSync(join(root, file), "utf8");
  if (MAKES_TESTS.test(text) && !REACHES_OTHERS.test(text)) return [key, most];
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
