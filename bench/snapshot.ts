import { mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ulid } from "ulid";
import type { SandboxRef } from "../src/core/sandbox.ts";
import type { StrategyContext } from "../src/core/strategy.ts";
import { openServices } from "../src/runtime.ts";
import { SnapshotStrategy } from "../src/strategies/btrfs-snapshot/snapshot.ts";
import { createSnapshot, deleteSubvolume } from "../src/system/btrfs/btrfs.ts";
import { statInto } from "../src/system/calls/facts.ts";
import { Folder } from "../src/system/calls/folder.ts";
import { readNames } from "../src/system/calls/listing.ts";
import { failpoint } from "../src/system/failpoints.ts";
import { answer, compare, type Row } from "./answer.ts";
import { openDurableStore } from "./durable-store.ts";
import { FLOOR, newContent, oldContent, PER_FOLDER, safeRenames } from "./floor.ts";
import { alternate, flushPlace, runProgram, type Side } from "./measure.ts";
import { imageOf, withPrivateMounts } from "./places.ts";
import { makeTree } from "./trees.ts";

/**
 * What does a sandbox by `snapshot` cost, and does that depend on the size of the original?
 *
 * Making one is compared with the bare ioctl; a whole plan with its path with what that can't do without, two
 * snapshots and two durable writes to a store like ours. Comparing is compared with one walk of the tree,
 * landing with the floor of a landing.
 */
const CHANGED = 20;
const SNAPSHOT = failpoint("bench.snapshot");

withPrivateMounts();
const place = imageOf("btrfs");
const rows: Row[] = [];
if (place === undefined) console.error("No btrfs can be mounted here, so there is nothing to ask.");
else await ask(place.path);
answer(rows);

async function ask(path: string): Promise<void> {
  const at = (name: string) => join(path, name);
  mkdirSync(at("alone"));
  const strategy = new SnapshotStrategy(contextIn(at("alone")));
  const drydock = await openServices({ stateDir: at("state") });
  const store = openDurableStore(at("store.db"));
  for (const size of [1_000, 100_000]) {
    const original = at(`original-${size}`);
    runProgram("btrfs", "subvolume", "create", original);
    const files = makeTree(original, size, PER_FOLDER, oldContent);
    flushPlace(path);
    const changed = files.filter((_, index) => index % (size / CHANGED) === 0);
    const label = `${size.toLocaleString("en")} files`;
    const make = await alternate(25, { ours: create(strategy, original), bare: bare(original, 1) });
    rows.push(
      compare(`snapshot create, ${label}`, make.ours, "the bare ioctl", make.bare, {
        atMost: 2,
        beyond: "the workspace, its intent, and the barrier by which later changes are told",
      }),
    );
    const plan = await alternate(15, { ours: createPlan(original), floor: bare(original, 2, store.write) });
    rows.push(
      compare("  a plan and its path", plan.ours, "2 ioctls + 2 durable writes", plan.floor, {
        atMost: 2,
        beyond: "claims, the resource's checks, and the records of the workspace",
      }),
    );
    const look = await alternate(9, { ours: diff(original, changed), walk: walk(original) });
    rows.push(compare(`  diff of ${CHANGED} changes`, look.ours, "one walk", look.walk, undefined));
    const land = await alternate(9, { ours: apply(original, changed), floor: safeRenames(path, CHANGED) });
    rows.push(compare(`  apply of ${CHANGED} changes`, land.ours, FLOOR, land.floor, undefined));
  }
  store.close();
  await drydock.close();

  function createPlan(original: string): Side {
    let plan = "";
    return {
      run: async () => {
        plan = (await drydock.plans.create({ resources: [{ location: original, strategy: "snapshot" }] })).id;
      },
      after: async () => {
        await drydock.plans.cancel(plan);
      },
    };
  }

  function diff(original: string, changed: readonly string[]): Side {
    let plan = "";
    return {
      before: async () => {
        plan = await planWithChanges(original, changed);
      },
      run: async () => {
        const { changes } = await drydock.plans.diff(plan);
        if (changes.length !== CHANGED) throw new Error(`${changes.length} changes were found`);
      },
      after: async () => {
        await drydock.plans.cancel(plan);
      },
    };
  }

  function apply(original: string, changed: readonly string[]): Side {
    let plan = "";
    return {
      before: async () => {
        plan = await planWithChanges(original, changed);
      },
      run: async () => {
        await drydock.plans.apply(plan);
      },
      after: async () => {
        await drydock.plans.undo(plan);
      },
    };
  }

  async function planWithChanges(original: string, changed: readonly string[]): Promise<string> {
    const { id } = await drydock.plans.create({ resources: [{ location: original, strategy: "snapshot" }] });
    const sandbox = await drydock.plans.path(id);
    changed.forEach((file, index) => {
      writeFileSync(join(sandbox, file), newContent(index));
    });
    flushPlace(path);
    return id;
  }
}

function create(strategy: SnapshotStrategy, location: string): Side {
  let ref: SandboxRef | undefined;
  return {
    run: async () => {
      const resource = { id: "r", name: "r", type: "fs-directory", location, properties: {} };
      ref = await strategy.create(ulid(), resource);
    },
    after: async () => {
      if (ref !== undefined) await strategy.cleanup(ref);
    },
  };
}

/** Snapshots one after the other, in a folder inside the original as ours are. */
function bare(original: string, count: number, write: (text: string) => void = () => undefined): Side {
  const folder = join(original, "bare");
  const names = Array.from({ length: count }, (_, index) => `snapshot-${index}`);
  return {
    before: () => mkdirSync(folder),
    run: () => {
      using source = Folder.open(original);
      using target = Folder.open(folder);
      for (const name of names) createSnapshot(SNAPSHOT, source, target, name);
      if (count > 1) for (const text of ["begun", "done"]) write(text);
    },
    after: () => {
      using target = Folder.open(folder);
      for (const name of names) deleteSubvolume(SNAPSHOT, target, name);
      rmdirSync(folder);
    },
  };
}

/** Looks at every name once. */
function walk(original: string): Side {
  const visit = (folder: Folder): void => {
    const folders: string[] = [];
    readNames(folder, (name, pointer) => {
      statInto(folder.fd, pointer);
      if (name.startsWith("folder-")) folders.push(name);
    });
    for (const name of folders) {
      using below = folder.openChild(name);
      visit(below);
    }
  };
  return {
    run: () => {
      using folder = Folder.open(original);
      visit(folder);
    },
  };
}

function contextIn(stateDir: string): StrategyContext {
  const nothing = () => undefined;
  return {
    stateDir,
    policy: { allowSetid: false, allowDevices: false },
    recordIntent: () => Promise.resolve(),
    failpoint: nothing,
    now: () => new Date(),
    progress: nothing,
    signal: new AbortController().signal,
  };
}
