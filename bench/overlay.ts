import { mkdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openServices } from "../src/runtime.ts";
import { Folder } from "../src/system/calls/folder.ts";
import { mountByDescriptors } from "../src/system/mount/overlay-mount.ts";
import { answer, compare, type Row } from "./answer.ts";
import { openDurableStore } from "./durable-store.ts";
import {
  FLOOR,
  LANDING_FLUSHES,
  newContent,
  oldContent,
  PER_FOLDER,
  removeAll,
  safeRenames,
} from "./floor.ts";
import { alternate, flushPlace, runProgram, type Side } from "./measure.ts";
import { imageOrFolder, withPrivateMounts } from "./places.ts";
import { makeTree } from "./trees.ts";

/**
 * What does a sandbox by `overlay` cost, and does that depend on the size of the original?
 *
 * Making one is compared with a bare mount and two durable writes to a store like ours, which is what it
 * can't do without; and with what others do: a copy, a worktree of git. Comparing and landing 20 changed
 * files is compared with git status and with the floor of a landing.
 */
const CHANGED = 20;
const IDENTITY = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];

withPrivateMounts();
const place = imageOrFolder("ext4");
const at = (...names: readonly string[]) => join(place.path, ...names);
const drydock = await openServices({ stateDir: at("state") });
const store = openDurableStore(at("store.db"));
const rows: Row[] = [];
for (const size of [1_000, 10_000, 100_000]) {
  const original = at("original");
  const files = makeTree(original, size, PER_FOLDER, oldContent);
  runProgram("git", "-C", original, "init", "-q");
  // Else git goes on tidying up in the background.
  runProgram("git", "-C", original, "config", "gc.auto", "0");
  runProgram("git", "-C", original, "add", "-A");
  runProgram("git", "-C", original, ...IDENTITY, "commit", "-qm", "all");
  flushPlace(place.path);
  const changed = files.filter((_, index) => index % (size / CHANGED) === 0);
  const label = `${size.toLocaleString("en")} files`;
  const make = await alternate(15, { ours: create(original), floor: bareMount(original) });
  rows.push(
    compare(`overlay create, ${label}`, make.ours, "mount + 2 durable writes", make.floor, {
      atMost: 2,
      beyond: "the claims, the resource's checks, the intents, and the workspace with its own records",
    }),
  );
  const slow = await alternate(size > 10_000 ? 1 : 3, {
    ours: create(original),
    copy: copied(original),
    worktree: worktree(original),
  });
  rows.push(compare("  against a copy", slow.ours, "cp -a", slow.copy, undefined));
  rows.push(compare("  against git", slow.ours, "git worktree add", slow.worktree, undefined));
  const look = await alternate(9, { ours: diff(original, changed), git: gitStatus(original, changed) });
  rows.push(
    compare(`  diff of ${CHANGED} changes`, look.ours, "git status", look.git, {
      underMs: 3,
      beyond: "both sides of each changed file are read, for its lines and for the digest of the diff",
    }),
  );
  const land = await alternate(9, {
    ours: apply(original, changed),
    floor: safeRenames(place.path, CHANGED),
  });
  rows.push(
    compare(`  apply of ${CHANGED} changes`, land.ours, FLOOR, land.floor, {
      atMost: 3,
      beyond: `${LANDING_FLUSHES}, one more flush (what leaves the layer), and ending the mount`,
    }),
  );
  removeAll(original);
}
store.close();
await drydock.close();
answer(rows);

function create(original: string): Side {
  let plan = "";
  return {
    run: async () => {
      plan = (await drydock.plans.create({ resources: [{ location: original, strategy: "overlay" }] })).id;
    },
    after: async () => {
      await drydock.plans.cancel(plan);
    },
  };
}

function bareMount(original: string): Side {
  const [upper, work, merged] = [at("upper"), at("work"), at("merged")];
  return {
    run: () => {
      for (const folder of [upper, work, merged]) mkdirSync(folder);
      for (const written of ["begun", "done"]) store.write(written);
      mountDirectly(original, upper, work, merged);
    },
    after: () => {
      runProgram("umount", merged);
      rmdirSync(merged);
      for (const folder of [upper, work]) rmSync(folder, { recursive: true });
    },
  };
}

function mountDirectly(original: string, upper: string, work: string, merged: string): void {
  using lower = Folder.open(original);
  using upperFolder = Folder.open(upper);
  using workFolder = Folder.open(work);
  using target = Folder.open(merged);
  mountByDescriptors({ lower, upper: upperFolder, work: workFolder }, target, "bench");
}

function copied(original: string): Side {
  return { run: () => runProgram("cp", "-a", original, at("copy")), after: () => removeAll(at("copy")) };
}

function worktree(original: string): Side {
  return {
    run: () => runProgram("git", "-C", original, "worktree", "add", "-q", "--detach", at("worktree")),
    after: () => runProgram("git", "-C", original, "worktree", "remove", "--force", at("worktree")),
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

/** In the original itself, which has its old content again afterwards. */
function gitStatus(original: string, changed: readonly string[]): Side {
  return {
    before: () => {
      changeAll(original, changed);
    },
    run: () => runProgram("git", "-C", original, "status", "--porcelain"),
    after: () => runProgram("git", "-C", original, "checkout", "-q", "--", "."),
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
  const { id } = await drydock.plans.create({ resources: [{ location: original, strategy: "overlay" }] });
  const sandbox = await drydock.plans.path(id);
  flushPlace(place.path);
  changeAll(sandbox, changed);
  return id;
}

function changeAll(folder: string, files: readonly string[]): void {
  files.forEach((file, index) => {
    writeFileSync(join(folder, file), newContent(index));
  });
}
