import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { AtomicCommitError, type SandboxStrategy } from "../../src/index.ts";
import type { Services } from "../../src/services.ts";
import { GitWorkshop } from "../git/git-workshop.ts";
import { TestRepository } from "../support/test-repository.ts";
import { Scene } from "./scene.ts";

describe("What tools run by themselves", () => {
  it("[X9] is named apart in the diff, and does not land without the user's word", async () => {
    await using scene = new Scene();
    const { drydock, plan, sandbox } = await scene.plan();
    const files = [".envrc", ".git/config", ".git/hooks/pre-commit", "deep/er/.VSCode/tasks.json"];
    for (const path of [...files, "ordinary.ts", ".git/hooks/pre-commit.sample"]) put(sandbox, path);
    const diff = await drydock.plans.diff(plan.id);
    assert.deepEqual(
      diff.selfRunning.map(({ path, tool, needsWord }) => ({ path, tool, needsWord })),
      [
        { path: ".envrc", tool: "direnv, mise, rvm", needsWord: true },
        { path: ".git/config", tool: "git", needsWord: true },
        { path: ".git/hooks/pre-commit", tool: "git", needsWord: true },
        { path: "deep/er/.VSCode/tasks.json", tool: "VS Code", needsWord: true },
      ],
    );
    const warned = diff.changes.filter(({ warnings = [] }) =>
      warnings.some((text) => /^runs by itself: /.test(text)),
    );
    assert.deepEqual(
      warned.map(({ path }) => path),
      files,
    );
    assert.deepEqual(await refused(drydock, plan.id), files);
    assert.deepEqual(await refused(drydock, plan.id, { dryRun: true }), files);
    assert.deepEqual(await refused(drydock, plan.id, { digest: diff.digest }), files);
    assert.deepEqual(await refused(drydock, plan.id, { allow: [".git/**", "other:**"] }), [
      files[0],
      files[3],
    ]);
    assert.equal(existsSync(scene.at("original/ordinary.ts")), false);
    assert.equal((await drydock.plans.show(plan.id)).state, "open");
    await drydock.plans.apply(plan.id, { allow: ["original:.git", "**/.VSCode", ".envrc"] });
    for (const path of files) assert.equal(readFileSync(scene.at(`original/${path}`), "utf8"), `${path}\n`);
    await drydock.plans.undo(plan.id);
    assert.equal(existsSync(scene.at("original/.git")), false, "taking back needs no word");
  });

  it("[X9] stays where it is while the rest of a plan lands, and is refused as a part too", async () => {
    await using scene = new Scene();
    const { drydock, plan, sandbox } = await scene.plan();
    for (const path of [".husky/pre-commit", "ordinary.ts"]) put(sandbox, path);
    assert.deepEqual(await refused(drydock, plan.id, { only: [".husky"] }), [".husky/pre-commit"]);
    await drydock.plans.apply(plan.id, { only: ["ordinary.ts"] });
    assert.equal(existsSync(scene.at("original/ordinary.ts")), true);
    assert.equal(existsSync(scene.at("original/.husky")), false);
    await drydock.plans.apply(plan.id, { only: [".husky"], allow: [".husky"] });
    assert.equal(existsSync(scene.at("original/.husky/pre-commit")), true);
  });

  it("[X9] is seen whatever way it comes: a mode, a link, a folder that was moved, another type", async () => {
    await using scene = new Scene();
    for (const path of [".husky/old", ".husky/touched", ".git/hooks/gone", ".envrc", "moved/pre-push"])
      put(scene.at("original"), path);
    put(scene.at("original"), ".claude/x/y");
    const { drydock, plan, sandbox } = await scene.plan();
    chmodSync(join(sandbox, ".husky/old"), 0o755);
    utimesSync(join(sandbox, ".husky/touched"), 1, 1);
    rmSync(join(sandbox, ".git/hooks/gone"));
    rmSync(join(sandbox, ".envrc"));
    symlinkSync("elsewhere", join(sandbox, ".envrc"));
    renameSync(join(sandbox, "moved"), join(sandbox, ".githooks"));
    rmSync(join(sandbox, ".claude"), { recursive: true });
    symlinkSync("/tmp/elsewhere", join(sandbox, ".claude"));
    mkdirSync(join(sandbox, "nested"));
    writeFileSync(join(sandbox, "nested/.git"), "gitdir: /tmp/elsewhere\n");
    symlinkSync("../anything", join(sandbox, "nested/.vscode"));
    const { selfRunning } = await drydock.plans.diff(plan.id);
    const shown = (needs: boolean) =>
      selfRunning.filter(({ needsWord }) => needsWord === needs).map(({ path }) => path);
    const waiting = [
      ".claude",
      ".envrc",
      ".githooks/pre-push",
      ".husky/old",
      "nested/.git",
      "nested/.vscode",
    ];
    assert.deepEqual(shown(true), waiting);
    assert.deepEqual(shown(false), [".git/hooks/gone"], "what is deleted is named, and needs no word");
    assert.deepEqual(await refused(drydock, plan.id), waiting);
    await drydock.plans.apply(plan.id, { allow: ["**"] });
    assert.equal(statSync(scene.at("original/.husky/old")).mode & 0o777, 0o755);
    assert.equal(existsSync(scene.at("original/.git/hooks/gone")), false);
  });

  it("[X9] is judged by where it is, also if the resource is that file, or a folder that tools look into", async () => {
    await using scene = new Scene();
    put(scene.base, "home/.bashrc");
    put(scene.base, "repository/.git/hooks/readme");
    const drydock = await scene.open();
    const plan = await drydock.plans.create({
      resources: [
        { location: scene.at("home/.bashrc"), strategy: "filesystem_copy" },
        { location: scene.at("repository/.git/hooks"), strategy: "filesystem_copy" },
      ],
    });
    await drydock.plans.write(plan.id, ".bashrc", ".", Buffer.from("evil\n"));
    await drydock.plans.write(plan.id, "hooks", "post-merge", Buffer.from("evil\n"));
    const { digest, selfRunning } = await drydock.plans.diff(plan.id);
    assert.deepEqual(
      selfRunning.map(({ resource, path, tool }) => `${resource} ${path} ${tool}`),
      [".bashrc . shells", "hooks post-merge git"],
    );
    assert.deepEqual(
      await refused(drydock, plan.id, { digest }),
      [".", "post-merge"],
      "all resources are named",
    );
    assert.deepEqual(await refused(drydock, plan.id, { allow: ["hooks:."] }), ["."]);
    assert.equal(readFileSync(scene.at("home/.bashrc"), "utf8"), "home/.bashrc\n");
    await drydock.plans.apply(plan.id, { allow: ["hooks:.", ".bashrc:."] });
    assert.equal(readFileSync(scene.at("home/.bashrc"), "utf8"), "evil\n");
  });

  it("[X9] lands where the config allows it, and the diff still names it", async () => {
    await using scene = new Scene();
    writeFileSync(
      scene.at("drydock.yaml"),
      "sandbox: { allow_self_running: ['**/.envrc', 'original:.vscode'] }\n",
    );
    const { drydock, plan, sandbox } = await scene.plan({ config: scene.at("drydock.yaml") });
    for (const path of ["a/.envrc", ".vscode/tasks.json", ".mcp.json"]) put(sandbox, path);
    const { selfRunning } = await drydock.plans.diff(plan.id);
    assert.deepEqual(
      selfRunning.map(({ path, needsWord }) => `${path} ${needsWord}`),
      [".mcp.json true", ".vscode/tasks.json false", "a/.envrc false"],
    );
    assert.deepEqual(await refused(drydock, plan.id), [".mcp.json"]);
    assert.deepEqual(await refusedBy(drydock.sandboxes.commitAll(plan.id)), [".mcp.json"]);
    await drydock.sandboxes.commitAll(plan.id, { allow: [".mcp.json"] });
    assert.equal(existsSync(scene.at("original/a/.envrc")), true);
  });

  it("[X9] does not land in a git checkout, committed or not, nor by a merge", async () => {
    await using workshop = new GitWorkshop();
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({ resources: [{ location: "app" }] });
    await drydock.plans.write(plan.id, "app", ".husky/pre-commit", Buffer.from("evil\n"));
    await drydock.plans.write(plan.id, "app", "src/app.ts", Buffer.from("export const app = 2;\n"));
    assert.deepEqual(await refused(drydock, plan.id), [".husky/pre-commit"]);
    assert.equal(workshop.repository.git("status", "--porcelain"), "");
    const worktree = new TestRepository(await drydock.plans.path(plan.id));
    worktree.commitAll("by the plan itself");
    workshop.repository.write("theirs.txt", "theirs\n");
    workshop.repository.commitAll("theirs");
    assert.deepEqual(await refused(drydock, plan.id), [".husky/pre-commit"]);
    await drydock.plans.apply(plan.id, { allow: [".husky"] });
    assert.equal(existsSync(join(workshop.base, "app/.husky/pre-commit")), true);
  });

  it("[X9] does not land by a strategy of one's own, which is asked for its diff", async () => {
    await using scene = new Scene();
    const landed: string[] = [];
    const drydock = await scene.open({ strategies: [() => foreign(landed)] });
    const plan = await drydock.plans.create({
      resources: [{ location: scene.at("original"), strategy: "foreign" }],
      allowIrreversible: true,
    });
    assert.deepEqual(await refused(drydock, plan.id), [".git/config"]);
    assert.deepEqual(await refusedBy(drydock.sandboxes.commitAll(plan.id)), [".git/config"]);
    assert.deepEqual(landed, []);
    await drydock.plans.apply(plan.id, { allow: [".git/config"] });
    assert.deepEqual(landed, ["commit"]);
  });
});

function put(folder: string, path: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), `${path}\n`);
}

/** The paths for which an apply is refused, with everything as before. */
async function refused(
  drydock: Services,
  plan: string,
  options: Parameters<Services["plans"]["apply"]>[1] = {},
): Promise<readonly string[]> {
  return await refusedBy(drydock.plans.apply(plan, options));
}

async function refusedBy(apply: Promise<unknown>): Promise<readonly string[]> {
  const thrown = await apply.then(
    () => assert.fail("it landed"),
    (reason: unknown) => reason,
  );
  assert.ok(thrown instanceof AtomicCommitError, String(thrown));
  assert.deepEqual(thrown.notUndone, []);
  for (const { resource, tool, why } of thrown.selfRunning) assert.ok(resource && tool && why);
  return thrown.selfRunning.map(({ path }) => path);
}

/** A strategy whose work is always the same: a setting of git. */
function foreign(landed: string[]): SandboxStrategy {
  const change = { path: ".git/config", operation: "modified", kind: "file" } as const;
  return {
    name: "foreign",
    capabilities: { commit: "one-phase", checkpoint: false },
    create: async (planId, resource) => ({
      sandboxId: `${planId}-${resource.id}`,
      planId,
      resourceId: resource.id,
      strategyName: "foreign",
      metadata: {},
    }),
    read: async () => Buffer.from(""),
    write: async () => change,
    diff: async () => ({ changes: [change] }),
    commit: async () => {
      landed.push("commit");
      return { changes: 1, attention: [] };
    },
    rollback: async () => undefined,
    checkpoint: async () => undefined,
    restoreCheckpoint: async () => undefined,
    cleanup: async () => undefined,
  };
}
