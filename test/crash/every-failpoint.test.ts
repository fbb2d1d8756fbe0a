import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FAILPOINT_NAMES } from "../../src/system/failpoint-names.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { mountImage, whyNoImages } from "../support/file-systems.ts";
import { BY_FUSE, BY_KERNEL, type OverlayRun } from "../support/overlay-runs.ts";
import { restorePlan, savePlan } from "./checkpoint-scenarios.ts";
import { expire, purge } from "./cleanup-scenarios.ts";
import {
  APART,
  applyFromCheckout,
  applyWithHooks,
  cancelAfterKilledGit,
  GIT_SCENARIOS,
  giveUpLanded,
  MIXED,
  merge,
  undoAgain,
} from "./git-scenarios.ts";
import { OverlayTrials } from "./overlay.ts";
import type { OverlayTrial } from "./overlay-run.ts";
import { partScenarios } from "./part-scenarios.ts";
import { tracePoints } from "./points.ts";
import { createWhileChanging, deleteWhileChanging, landWhileMoving } from "./rival-scenarios.ts";
import { checkpoint, restore, rollBackAlone } from "./sandbox-scenarios.ts";
import {
  apply,
  applyAfterForgottenLock,
  cancel,
  cancelInPlace,
  create,
  createInPlace,
  giveUp,
  overwrite,
  overwriteInPlace,
  overwriteLinked,
  recoveryAfter,
  rollback,
  type Scenario,
  undo,
  write,
} from "./scenarios.ts";
import { runUnprivileged } from "./unprivileged.ts";
import type { WorldOptions } from "./world.ts";

const HELD = "belongs to transactions that are held on servers; test/databases/held-crash.test.ts kills it there";

/** Names that the scenarios of this suite do not pass, each with the reason. */
const ELSEWHERE: { readonly [name: string]: string } = {
  ...Object.fromEntries(
    FAILPOINT_NAMES.filter((name) => /^(?:held|keeper|secrets)[.]/.test(name)).map((name) => [name, HELD]),
  ),
  "held.cancel": "asks a server to end a statement; test/databases/held-interruption.ts kills it there",
  "init.write": "writes a config file; no plan is involved, and new-file.test.ts has the write fail half way",
  "run.layers": "belongs to 'drydock run'; test/run/crash.test.ts kills it there",
  "run.own": "as run.layers",
  "run.scratch": "as run.layers",
  "run.scratch-attributes": "as run.layers",
  "run.scratch-clear": "as run.layers",
  "run.scratch-link": "as run.layers",
  "run.script": "as run.layers",
  "run.skeleton": "as run.layers",
  "run.stand-in": "as run.layers",
  "run.stand-in-fill": "as run.layers",
  "run.start": "as run.layers",
  "runs.make": "as run.layers",
  "runs.remove": "as run.layers",
  "sqlite.view-hide": "belongs to 'drydock run'; test/databases/run.test.ts kills it there",
  "sqlite.view-work": "as sqlite.view-hide",
  "use.forget": "as run.layers",
  "use.make": "as run.layers",
  "use.write": "as run.layers",
  "trust.state-folder": "belongs to 'drydock trust'; no plan is involved, and trust.test.ts kills it there",
  "trust.sweep": "as trust.state-folder",
  "trust.write": "as trust.state-folder",
};

/** What together passes all that is overlay's own. */
const OVERLAY_TRIALS: readonly (readonly [OverlayRun, readonly OverlayTrial[]])[] = [
  [
    BY_KERNEL,
    [
      ...["create", "apply", "rollback"].map((scenario) => ({ scenario })),
      { scenario: "restore of a plan", isSmall: true },
      ...["apply of a part", "undo of a part"].map((scenario) => ({ scenario })),
      { scenario: "apply of a part of a move", isSmall: true },
      ...["write without a mount", "write over what was deleted"].map((scenario) => ({ scenario, isSmall: true })),
      { scenario: "create", isSmall: true, isInside: true },
      { scenario: "apply", crash: "landings.flush-staged:2=kill" },
    ],
  ],
  [
    BY_FUSE,
    [
      { scenario: "create", isSmall: true, ways: ["fuse"] },
      { scenario: "create", isSmall: true, ways: ["fuse"], after: "overlay.probe-unmount=kill" },
    ],
  ],
];

async function reached(): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  const trace = async (scenario: Scenario, options: WorldOptions, failpoints?: string) => {
    for (const name of (await tracePoints(scenario, options, failpoints)).keys()) names.add(name);
  };
  const copying: WorldOptions = { strategy: "filesystem_copy" };
  for (const scenario of [create, write, overwrite, overwriteLinked, apply, undo, rollback, cancel])
    await trace(scenario, copying);
  for (const scenario of [checkpoint, restore, rollBackAlone, giveUp]) await trace(scenario, copying);
  for (const scenario of [createWhileChanging, deleteWhileChanging, landWhileMoving]) await trace(scenario, copying);
  for (const scenario of [createInPlace, cancelInPlace, overwriteInPlace]) await trace(scenario, { strategy: "none" });
  await trace(recoveryAfter(apply, "landings.flush-staged:2=kill"), copying);
  await trace(recoveryAfter(apply, "land.exchange:5=kill"), copying);
  await trace(applyAfterForgottenLock, copying);
  await trace(apply, copying, "landings.flush-staged:2=error");
  for (const scenario of [savePlan, restorePlan, purge, expire]) await trace(scenario, copying);
  for (const scenario of Object.values(partScenarios(copying))) await trace(scenario, copying);
  for (const scenario of ["apply", "undo", "restore"] as const)
    for (const name of await runUnprivileged(scenario)) names.add(name);
  for (const crash of ["move.lock:1=kill", "move.lock:2=kill"])
    for (const name of await runUnprivileged("apply", { recoveryFrom: crash })) names.add(name);
  const database = { folder: fastFolder(), database: { journal: "wal", change: "schema" } } as const;
  const databases: WorldOptions = { strategy: "snapshot", places: [database] };
  for (const scenario of [create, apply, undo, rollback, cancel, checkpoint, restore, rollBackAlone])
    await trace(scenario, databases);
  for (const scenario of [
    ...Object.values(GIT_SCENARIOS),
    applyFromCheckout,
    applyWithHooks,
    cancelAfterKilledGit,
    undoAgain,
    recoveryAfter(giveUpLanded, "git.undo-index:1=kill"),
  ])
    await trace(scenario, MIXED);
  await trace(merge, APART);
  const image = mountImage("xfs");
  const whole = mountImage("btrfs");
  try {
    const elsewhere = [
      { folder: whole.path, isOriginal: true },
      { folder: image.path, hasDefaultAcl: true },
    ];
    for (const scenario of [create, cancel, undo]) await trace(scenario, { ...copying, places: elsewhere });
    const onXfs = { ...copying, places: [{ folder: image.path }, { folder: image.path }] };
    await trace(recoveryAfter(apply, "move.times:1=kill"), onXfs);
    await trace(apply, onXfs);
    await trace(create, { strategy: "copy_on_write", places: elsewhere });
    const subvolumes = [1, 2].map(() => ({ folder: whole.path, isSubvolume: true }));
    const small: WorldOptions = { strategy: "snapshot", isSmall: true, places: subvolumes };
    for (const scenario of [create, apply, rollback, checkpoint, overwrite, partScenarios(small).applyPart])
      await trace(scenario, small);
  } finally {
    image.remove();
    whole.remove();
  }
  for (const [run, trials] of OVERLAY_TRIALS) {
    await using there = await OverlayTrials.start(run);
    for (const trial of trials) for (const name of (await there.try(trial)).points) names.add(name);
  }
  return names;
}

describe("the points of the crash suite", { skip: whyNoImages() ?? false }, () => {
  it("[A3] are all failpoints there are, but for those with a reason", async (t) => {
    const names = await reached();
    const missed = FAILPOINT_NAMES.filter((name) => !names.has(name) && !(name in ELSEWHERE));
    assert.deepEqual(missed, [], "these failpoints are passed by no scenario");
    const outdated = Object.keys(ELSEWHERE).filter(
      (name) => names.has(name) || !(FAILPOINT_NAMES as readonly string[]).includes(name),
    );
    assert.deepEqual(outdated, [], "these have a reason not to be passed, but are, or are gone");
    t.diagnostic(`${names.size} of ${FAILPOINT_NAMES.length} failpoints passed`);
  });
});
