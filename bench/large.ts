import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openServices } from "../src/runtime.ts";
import { answer, compare, type Row } from "./answer.ts";
import { newContent, oldContent, PER_FOLDER, removeAll, renamesAlone } from "./floor.ts";
import { alternate, flushPlace, runProgram, type Side } from "./measure.ts";
import { imageOrFolder, type Place, withPrivateMounts } from "./places.ts";
import { makeTree } from "./trees.ts";

/**
 * How do large plans do: 50,000 changed files, 100,000 new ones? Ours are the commands that a user types,
 * each in a process of its own, with the largest resident set of that process. The floor of a diff is to hash
 * every file that it has to read; that of an apply is one flush, the renames alone, one flush. New content
 * waits as unwritten pages in both.
 */
const MODIFIED = 50_000;
const ADDED = 100_000;
const ROUNDS = 3;
const MOST_MEGABYTES = 150;
const DRYDOCK = join(import.meta.dirname, "../bin/drydock");
const REPORT_PEAK = pathToFileURL(join(import.meta.dirname, "report-peak.ts")).href;

withPrivateMounts();
const place = imageOrFolder("ext4");
const peakFile = join(place.path, "peak");
const state = join(place.path, "state");
const peaks = new Map<string, number>();

/** A plan with so much work in it, made anew for each run. */
class LargeWork {
  readonly #place: Place;
  readonly #count: number;
  readonly #files: "changed" | "new";
  readonly #original: string;
  #plan = "";
  #sandbox = "";

  constructor(at: Place, count: number, files: "changed" | "new") {
    this.#place = at;
    this.#count = count;
    this.#files = files;
    this.#original = join(at.path, "original");
  }

  /** A command of the user's on the plan. */
  command(command: "diff" | "apply", ...options: readonly string[]): Side {
    return {
      before: () => this.#make(),
      run: () => {
        const environment = { DRYDOCK_BENCH_PEAK: peakFile, NODE_OPTIONS: `--import ${REPORT_PEAK}` };
        runProgram(
          "env",
          ...pairs(environment),
          DRYDOCK,
          "--state-dir",
          state,
          "plan",
          command,
          this.#plan,
          ...options,
        );
        peaks.set(command, Math.max(peaks.get(command) ?? 0, Number(readFileSync(peakFile, "utf8"))));
      },
      after: () => this.#remove(),
    };
  }

  hashes(): Side {
    return {
      before: () => this.#make(),
      run: () =>
        runProgram(
          "sh",
          "-c",
          'find "$@" -type f -print0 | xargs -0 sha256sum',
          "sh",
          this.#sandbox,
          this.#original,
        ),
      after: () => this.#remove(),
    };
  }

  async #make(): Promise<void> {
    const contentOf = this.#files === "new" ? () => undefined : oldContent;
    const files = makeTree(this.#original, this.#count, PER_FOLDER, contentOf);
    const drydock = await openServices({ stateDir: state });
    this.#plan = (
      await drydock.plans.create({ resources: [{ location: this.#original, strategy: "filesystem_copy" }] })
    ).id;
    this.#sandbox = await drydock.plans.path(this.#plan);
    await drydock.close();
    flushPlace(this.#place.path);
    files.forEach((file, at) => {
      writeFileSync(join(this.#sandbox, file), newContent(at));
    });
  }

  #remove(): void {
    removeAll(this.#original, state);
  }
}

const rows: Row[] = [];
for (const kind of [
  { what: `${MODIFIED} changed files`, count: MODIFIED, files: "changed" },
  { what: `${ADDED} new files`, count: ADDED, files: "new" },
] as const) {
  const work = new LargeWork(place, kind.count, kind.files);
  const { diff, hashes, apply, renames } = await alternate(ROUNDS, {
    diff: work.command("diff", "--name-only"),
    hashes: work.hashes(),
    apply: work.command("apply"),
    renames: renamesAlone(place.path, kind.count, kind.files),
  });
  rows.push(
    compare(`diff of ${kind.what} (${place.label})`, diff, "sha256sum of both sides", hashes, { atMost: 3 }),
  );
  rows.push(compare(`apply of ${kind.what}`, apply, "2 syncfs+renames", renames, { atMost: 3 }));
  for (const command of ["diff", "apply"])
    rows.push(memoryRow(`  memory of its ${command}`, peaks.get(command) ?? 0));
  peaks.clear();
}
answer(rows);

function memoryRow(what: string, megabytes: number): Row {
  const verdict = megabytes <= MOST_MEGABYTES ? "ok" : "MISSED";
  return {
    what,
    ours: `${megabytes.toFixed(0)} MB`,
    peer: "",
    ratio: "",
    goal: `≤ ${MOST_MEGABYTES} MB`,
    verdict,
  };
}

function pairs(environment: { readonly [name: string]: string }): string[] {
  return Object.entries(environment).map(([name, value]) => `${name}=${value}`);
}
