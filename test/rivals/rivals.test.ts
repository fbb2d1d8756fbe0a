import assert from "node:assert/strict";
import { lstatSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import type { ApplyResult } from "../../src/index.ts";
import { openServices } from "../../src/runtime.ts";
import { IS_LONG } from "../support/long-form.ts";
import { removeFolder } from "../support/remove-folder.ts";
import {
  actAsRival,
  buildContestedTree,
  type Claim,
  holds,
  textsIn,
  workInSandbox,
} from "./contested-tree.ts";
import { DrydockProcess, type ProcessEnd, runProcess } from "./drydock-process.ts";

type Attention = ApplyResult["attention"];

/** A failpoint that an apply passes, and at which pass. */
interface Moment {
  readonly point: string;
  readonly nth: number;
  /** Nothing has landed yet. */
  readonly isBeforeLanding: boolean;
  /** It is decided: the apply can only finish. */
  readonly isDecided: boolean;
}

describe("A rival who acts while a plan is landing", () => {
  let moments: readonly Moment[] = [];

  before(async () => {
    await using contest = await Contest.begin();
    const trace = join(contest.base, "trace");
    assert.equal((await runProcess(contest.task, { trace })).code, 0);
    moments = momentsOf(readFileSync(trace, "utf8"));
    for (const point of [
      "land.exchange",
      "land.add",
      "land.remove",
      "land.record",
      "landings.flush-landed",
      "store.written",
    ])
      assert.ok(
        moments.some((moment) => moment.point === point),
        `${point} is passed`,
      );
  });

  it("[A19] [X1] loses nothing, is named, and makes us write nowhere else, at every failpoint from staging to the end", async () => {
    await inParallel(moments, async (moment) => {
      await using contest = await Contest.begin();
      await using child = new DrydockProcess(contest.task, {
        failpoint: `${moment.point}:${moment.nth}=stop`,
      });
      if (!(await child.stops())) {
        // How often the clock is asked depends on the clock.
        assert.match(moment.point, /^barrier[.]/);
        return;
      }
      contest.rivalActs();
      child.goOn();
      const end = await child.ends();
      contest.check(moment, attentionOf(end, moment));
    });
  });

  it("[A19] [A3] loses nothing when the process dies right then and another one finishes its work", async () => {
    const some = moments.filter(({ isDecided, point }) => isDecided && /^land/.test(point));
    await inParallel(some, async (moment) => {
      await using contest = await Contest.begin();
      await using child = new DrydockProcess(contest.task, {
        failpoint: `${moment.point}:${moment.nth}=stop`,
      });
      await child.mustStop();
      contest.rivalActs();
      child.signal("SIGKILL");
      await child.ends();
      const { recovery, plans, log, close } = await openServices({
        stateDir: contest.stateDir,
        environment: {},
      });
      assert.equal(recovery.pending.length, 0, JSON.stringify(recovery));
      assert.equal((await plans.show(contest.planId)).state, "applied");
      const attention = recovery.finished[0]?.attention ?? [];
      const asked = (await log(contest.planId)).entries.flatMap((entry) =>
        entry.event === "needs attention" ? entry.details.resources : [],
      );
      assert.deepEqual(asked, attention, "the history asks for a person where the report does");
      await close();
      contest.check(moment, attention);
    });
  });
});

/** One original, one plan over it with work in its sandbox, one rival. */
class Contest {
  readonly base = mkdtempSync(join(tmpdir(), "drydock-rivals-"));
  readonly stateDir = join(this.base, "state");
  planId = "";
  #claims: readonly Claim[] = [];
  #outside: { readonly [folder: string]: ReturnType<typeof textsIn> } = {};

  static async begin(): Promise<Contest> {
    const contest = new Contest();
    buildContestedTree(contest.base);
    const drydock = await openServices({ stateDir: contest.stateDir, cwd: contest.base, environment: {} });
    const plan = await drydock.plans.create({
      resources: [{ location: "original", strategy: "filesystem_copy" }],
    });
    workInSandbox(await drydock.plans.path(plan.id));
    await drydock.close();
    contest.planId = plan.id;
    return contest;
  }

  get task() {
    return { stateDir: this.stateDir, calls: [["apply", this.planId]] as const };
  }

  rivalActs(): void {
    this.#claims = actAsRival(this.base);
    this.#outside = this.#textsOutside();
  }

  check(moment: Moment, attention: Attention): void {
    const at = `${moment.point}:${moment.nth}`;
    assert.deepEqual(this.#textsOutside(), this.#outside, `${at}: outside`);
    for (const { path, marker } of this.#claims) {
      if (holds(join(this.base, "original", path), marker)) continue;
      const kept = attention.filter((item) => item.path === path).map(({ keptAt }) => keptAt);
      const isKept = kept.some((place) => place !== undefined && holds(place, marker));
      assert.ok(isKept, `${at}: the rival's ${path} is lost; attention: ${JSON.stringify(attention)}`);
    }
    // Between the look at a mode and the chmod there is no way to notice: the kernel has no exchange for
    // modes.
    if (!moment.point.startsWith("metadata."))
      assert.equal(
        lstatSync(join(this.base, "original", "metadata.txt")).mode & 0o777,
        0o640,
        `${at}: metadata.txt`,
      );
    if (!moment.isBeforeLanding || !moment.isDecided) return;
    const named = new Set(attention.map(({ path }) => path));
    const disputed = [...this.#claims.map(({ path }) => path), "deleted.txt", "mode.txt", "metadata.txt"];
    const gone = ["moved", "moved-out", "swapped"].flatMap((folder) => [
      `${folder}/1.txt`,
      `${folder}/added.txt`,
    ]);
    for (const path of [...disputed, ...gone]) assert.ok(named.has(path), `${at}: ${path} is not named`);
    for (const path of named) assert.ok(!path.startsWith("last"), `${at}: ${path} was not disputed`);
  }

  #textsOutside(): { readonly [folder: string]: ReturnType<typeof textsIn> } {
    return Object.fromEntries(
      ["outside", "moved-out", "swapped-out"].map((folder) => [folder, textsIn(join(this.base, folder))]),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    removeFolder(this.base);
  }
}

/** Before the decision an apply may fail, with everything as the rival left it; after it, it finishes. */
function attentionOf(end: ProcessEnd, moment: Moment): Attention {
  const last = end.answers.at(-1);
  assert.ok(last !== undefined, end.stderr);
  if ("result" in last) return (last.result as ApplyResult).attention;
  assert.equal(moment.isDecided, false, JSON.stringify(last.error));
  assert.deepEqual(last.error.details["notUndone"], []);
  return [];
}

/**
 * The last pass of every failpoint that lands something, and the first one, too; of the others from staging
 * on the last pass of each second; in a long run all of them.
 */
function momentsOf(trace: string): Moment[] {
  const lines = trace
    .trim()
    .split("\n")
    .map((line) => line.replace("failpoint ", ""));
  const staging = lines.indexOf("stage.record");
  const decision = lines.indexOf("store.written", lines.lastIndexOf("landings.flush-staged"));
  const firstLanding = lines.findIndex((line, at) => at > decision && line.startsWith("land."));
  const passes = new Map<string, number>();
  const all = lines.map((point, at) => {
    const nth = (passes.get(point) ?? 0) + 1;
    passes.set(point, nth);
    return { point, nth, at, isBeforeLanding: at <= firstLanding, isDecided: at > decision };
  });
  const eligible = all.filter(({ at }) => at >= staging);
  if (IS_LONG) return eligible;
  const groups = [...Map.groupBy(eligible, ({ point, isDecided }) => `${point} ${isDecided}`).values()];
  const landing = groups.filter(([first]) => isLanding(first));
  const others = groups.filter(([first]) => !isLanding(first)).filter((_, at) => at % 2 === 0);
  return [
    ...landing.flatMap((group) => group.filter((_, at) => at === 0 || at === group.length - 1)),
    ...others.flatMap((group) => group.slice(-1)),
  ];
}

/** What changes originals, or is right before that, or the decision itself. */
function isLanding(moment: Pick<Moment, "point"> | undefined): boolean {
  return /^land|^store\.written/.test(moment?.point ?? "");
}

async function inParallel<T>(items: readonly T[], action: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  await Promise.all(
    Array.from({ length: 3 }, async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await action(item);
    }),
  );
}
