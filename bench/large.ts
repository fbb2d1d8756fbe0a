import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openServices } from "../src/runtime.ts";
import { answer, compare, type Row } from "./answer.ts";
import { FLOOR, newContent, oldContent, PER_FOLDER, removeAll, safeRenames } from "./floor.ts";
import { alternate, flushPlace, runProgram, type Side } from "./measure.ts";
import { imageOrFolder, type Place, withPrivateMounts } from "./places.ts";
import { makeTree } from "./trees.ts";

/**
 * How do large plans do: 50,000 changed files, 100,000 new ones? Ours are the commands that a user types,
 * each in a process of its own, with the largest resident set of that process.
 *
 * The goals, and why they are what they are:
 * - A diff takes at most 3 times as long as its floor, to hash every file that it has to read. It also walks
 *   both trees, compares metadata and starts a process of Node.
 * - An apply takes at most 3 times as long as its floor (floor.ts), which looks at both sides and renames
 *   each file once. It also starts a process of Node, asks for each file whether a process still writes to
 *   it, and renames it twice, because a file waits in a slot between the decision and the landing. New
 *   content waits as unwritten pages in both.
 * - Either takes at most 150 MB, whatever the number of changes. A bare Node takes about 45 of these, which
 *   is the floor, and Drydock with nothing to do about 65; the garbage that Node lets wait takes the most of
 *   the rest. So the memory is asked for once more with three times as many new files: changes are in a file
 *   (row-store.ts), so it may grow by the folders of the baseline, and by nothing for each change.
 */
const MODIFIED = 50_000;
const ADDED = 100_000;
const MANY = 300_000;
const ROUNDS = 3;
const MOST_MEGABYTES = 150;
const BEYOND_RENAMES =
  "a second rename, a lease, a line of the manifest and four more looks for each file, and a process of Node";
const DRYDOCK = join(import.meta.dirname, "../bin/drydock");
const REPORT_PEAK = join(import.meta.dirname, "report-peak.cjs");

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
        const peak = peakOf(DRYDOCK, "--state-dir", state, "plan", command, this.#plan, ...options);
        peaks.set(command, Math.max(peaks.get(command) ?? 0, peak));
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

const bareNode = peakOf(process.execPath, "-e", "0");
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
    renames: safeRenames(place.path, kind.count, kind.files),
  });
  rows.push(
    compare(`diff of ${kind.what} (${place.label})`, diff, "sha256sum of both sides", hashes, { atMost: 3 }),
  );
  rows.push(compare(`apply of ${kind.what}`, apply, FLOOR, renames, { atMost: 3, beyond: BEYOND_RENAMES }));
  memoryRows(kind.what);
}
const many = new LargeWork(place, MANY, "new");
await alternate(0, { diff: many.command("diff", "--name-only"), apply: many.command("apply") });
memoryRows(`${MANY} new files`);
answer(rows);

/** What the commands took since this was called last. */
function memoryRows(what: string): void {
  for (const command of ["diff", "apply"])
    rows.push(memoryRow(`memory of the ${command} of ${what}`, peaks.get(command) ?? 0));
  peaks.clear();
}

function memoryRow(what: string, megabytes: number): Row {
  const verdict = megabytes <= MOST_MEGABYTES ? "ok" : "MISSED";
  return {
    what,
    ours: `${megabytes.toFixed(0)} MB`,
    peer: `bare Node ${bareNode.toFixed(0)} MB`,
    ratio: "",
    goal: `≤ ${MOST_MEGABYTES} MB`,
    verdict,
  };
}

/** Runs a program of Node to its end, and returns its largest resident set in MB. */
function peakOf(program: string, ...args: readonly string[]): number {
  const environment = [`DRYDOCK_BENCH_PEAK=${peakFile}`, `NODE_OPTIONS=--require ${REPORT_PEAK}`];
  runProgram("env", ...environment, program, ...args);
  return Number(readFileSync(peakFile, "utf8"));
}
