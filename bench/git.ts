import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openServices } from "../src/runtime.ts";
import { answer, compare, type Row } from "./answer.ts";
import { newContent, oldContent, PER_FOLDER } from "./floor.ts";
import { alternate, flushPlace, runProgram, type Side } from "./measure.ts";
import { imageOrFolder, withPrivateMounts } from "./places.ts";
import { makeTree } from "./trees.ts";

/**
 * What does a sandbox by `git_worktree` cost, against a worktree of git itself, and landing it against
 * committing and merging the same? The worktrees of both are removed after the landing, because that takes
 * longer than all the rest.
 */
const FILES = 50_000;
const CHANGED = 20;
const IDENTITY = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];

withPrivateMounts();
const place = imageOrFolder("ext4");
const original = join(place.path, "original");
const config = join(place.path, "drydock.yaml");
writeFileSync(config, "sandbox: { cleanup: manual }\n");
const drydock = await openServices({ stateDir: join(place.path, "state"), config });
const files = makeTree(original, FILES, PER_FOLDER, oldContent);
git("init", "-q", "-b", "main");
// Else git goes on tidying up in the background.
git("config", "gc.auto", "0");
git("add", "-A");
git(...IDENTITY, "commit", "-qm", "all");
git("repack", "-adq");
flushPlace(place.path);
const changed = files.filter((_, index) => index % (FILES / CHANGED) === 0);

const make = await alternate(5, { ours: create(), worktree: worktree() });
const land = await alternate(9, { ours: apply(), merge: merge() });
await drydock.close();
const label = `${FILES.toLocaleString("en")} files`;
const rows: Row[] = [
  compare(`git_worktree create, ${label}`, make.ours, "git worktree add", make.worktree, {
    atMost: 1.1,
    beyond: "the index and the refs of the user are read, and the plan is recorded durably",
  }),
  compare(`  apply of ${CHANGED} changes`, land.ours, "git merge of the same", land.merge, {
    atMost: 2,
    beyond:
      "git's locks are held across crashes, files are exchanged with what came out looked at, and four flushes",
  }),
];
answer(rows);

function git(...args: readonly string[]): void {
  runProgram("git", "-C", original, ...args);
}

function changeAll(root: string): void {
  changed.forEach((file, index) => {
    writeFileSync(join(root, file), newContent(index));
  });
}

function create(): Side {
  let plan = "";
  return {
    run: async () => {
      plan = await newPlan();
    },
    after: async () => {
      await drydock.plans.cancel(plan);
    },
  };
}

async function newPlan(): Promise<string> {
  return (await drydock.plans.create({ resources: [{ location: original, strategy: "git_worktree" }] })).id;
}

function worktree(): Side {
  const path = join(place.path, "worktree");
  return {
    run: () => git("worktree", "add", "-q", "--detach", path),
    after: () => git("worktree", "remove", "--force", path),
  };
}

function apply(): Side {
  let plan = "";
  return {
    before: async () => {
      plan = await newPlan();
      changeAll(await drydock.plans.path(plan));
      flushPlace(place.path);
    },
    run: async () => {
      await drydock.plans.apply(plan);
    },
    after: async () => {
      await drydock.plans.undo(plan);
      await drydock.sandboxes.cleanupAll(plan);
    },
  };
}

/** What a person does who lands it by hand: commit the work, then merge. */
function merge(): Side {
  const path = join(place.path, "by-hand");
  return {
    before: () => {
      git("worktree", "add", "-q", "-b", "by-hand", path);
      changeAll(path);
      flushPlace(place.path);
    },
    run: () => {
      runProgram("git", "-C", path, ...IDENTITY, "commit", "-qam", "work");
      git(...IDENTITY, "merge", "-q", "--no-ff", "--no-edit", "by-hand");
    },
    after: () => {
      git("reset", "-q", "--hard", "HEAD^1");
      git("worktree", "remove", "--force", path);
      git("branch", "-qD", "by-hand");
    },
  };
}
