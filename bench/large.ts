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
 *   (row-store.ts), so it may grow by the folders of the baseline, and by nothing for each change but
 *   those in which renames are looked for, at most 100,000 (rename-finder.ts).
 */
const MODIFIED = 50_000;
const ADDED = 100_000;
const MANY = 300_000;
const ROUNDS = 2;
const MOST_MEGABYTES = 150;
const BEYOND_RENAMES =
  "a second rename, a lease, a line of the manifest and four more looks for each file, and a process of Node";
const BEYOND_BARE_NODE =
  "Drydock itself (about 20 MB), the folders of the baseline, up to 100,000 entries in which renames are looked for, and garbage that waits, more on a busy machine";
const DRYDOCK = join(import.meta.dirname, "../bin/drydock");
const REPORT_PEAK = join(import.meta.dirname, "report-peak.cjs");

withPrivateMounts();
const place = imageOrFolder("ext4");
const peakFile = join(place.path, "peak");
const state = join(place.path, "state");
const peaks = new Map<string, number>();

/**
 * A plan with so much work in it. Making one takes longer than what is measured, so the sides of a round
 * share it, in this order: the diff, its floor, and the apply, after which it is removed.
 */
class LargeWork {
  readonly #place: Place;
  readonly #count: number;
  readonly #files: "changed" | "new";
  readonly #original: string;
  #paths: readonly string[] = [];
  #plan = "";
  #sandbox = "";

  constructor(at: Place, count: number, files: "changed" | "new") {
    this.#place = at;
    this.#count = count;
    this.#files = files;
    this.#original = join(at.path, "original");
  }

  diff(): Side {
    return {
      before: async () => {
        await this.#make();
        this.#write();
      },
      run: () => this.#command("diff", "--name-only"),
    };
  }

  hashes(): Side {
    const command = 'find "$@" -type f -print0 | xargs -0 sha256sum';
    return { run: () => runProgram("sh", "-c", command, "sh", this.#sandbox, this.#original) };
  }

  apply(): Side {
    return {
      // Once more: new content waits as unwritten pages, as it does for the floor.
      before: () => this.#write(),
      run: () => this.#command("apply"),
      after: () => removeAll(this.#original, state),
    };
  }

  /** A command of the user's on the plan. */
  #command(command: "diff" | "apply", ...options: readonly string[]): void {
    const peak = peakOf(DRYDOCK, "--state-dir", state, "plan", command, this.#plan, ...options);
    peaks.set(command, Math.max(peaks.get(command) ?? 0, peak));
  }

  async #make(): Promise<void> {
    const contentOf = this.#files === "new" ? () => undefined : oldContent;
    this.#paths = makeTree(this.#original, this.#count, PER_FOLDER, contentOf);
    const drydock = await openServices({ stateDir: state });
    this.#plan = (
      await drydock.plans.create({ resources: [{ location: this.#original, strategy: "filesystem_copy" }] })
    ).id;
    this.#sandbox = await drydock.plans.path(this.#plan);
    await drydock.close();
    flushPlace(this.#place.path);
  }

  #write(): void {
    this.#paths.forEach((file, at) => {
      writeFileSync(join(this.#sandbox, file), newContent(at));
    });
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
    diff: work.diff(),
    hashes: work.hashes(),
    apply: work.apply(),
    renames: safeRenames(place.path, kind.count, kind.files),
  });
  rows.push(
    compare(`diff of ${kind.what} (${place.label})`, diff, "sha256sum of both sides", hashes, {
      atMost: 3,
      beyond:
        "each folder of both sides is listed and compared, and the lines of each changed file are counted",
    }),
  );
  rows.push(compare(`apply of ${kind.what}`, apply, FLOOR, renames, { atMost: 3, beyond: BEYOND_RENAMES }));
  memoryRows(kind.what);
}
const many = new LargeWork(place, MANY, "new");
await alternate(0, { diff: many.diff(), apply: many.apply() });
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
    beyond: BEYOND_BARE_NODE,
  };
}

/** Runs a program of Node to its end, and returns its largest resident set in MB. */
function peakOf(program: string, ...args: readonly string[]): number {
  const environment = [`DRYDOCK_BENCH_PEAK=${peakFile}`, `NODE_OPTIONS=--require ${REPORT_PEAK}`];
  runProgram("env", ...environment, program, ...args);
  return Number(readFileSync(peakFile, "utf8"));
}
