import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type ApplyResult, AtomicCommitError } from "../../src/index.ts";
import { lastError, lastResult, runProcess } from "../rivals/drydock-process.ts";
import { mountImage, whyNoImages } from "../support/file-systems.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";
import { Scene } from "./scene.ts";

const NOBODY = 65534;
const AS_NOBODY = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
const noImages = whyNoImages();
const rooted = noImages === undefined ? {} : { skip: noImages };

describe("What would stop a landing", () => {
  for (const flag of ["i", "a"]) {
    for (const path of ["file", "folder"]) {
      it(
        `[A10] a ${path} with the attribute +${flag} is found before anything is changed`,
        rooted,
        async () => {
          const image = mountImage("ext4");
          try {
            await using scene = new Scene(join(image.path, "scene"));
            // Before the plan is made: setting it moves the change time, which would be a conflict already.
            execFileSync("chattr", [`+${flag}`, scene.at(`original/${path}`)]);
            try {
              const { drydock, plan } = await scene.plan();
              for (const name of ["another", "file", "folder/inner"])
                await drydock.plans.write(plan.id, "original", name, Buffer.from("planned\n"));
              const before = snapshotTree(scene.at("original"));
              const error = await failureOf(drydock.plans.apply(plan.id));
              assert.match(error.message, new RegExp(`original/${path} is immutable`));
              assertSameTree(snapshotTree(scene.at("original")), before, "the original");
              assert.equal((await drydock.plans.show(plan.id)).state, "open");
            } finally {
              execFileSync("chattr", [`-${flag}`, scene.at(`original/${path}`)]);
            }
          } finally {
            image.remove();
          }
        },
      );
    }
  }

  it(
    "[A10] a full file system is found before anything is changed, and with room again it lands",
    rooted,
    async () => {
      const image = mountImage("ext4", { megabytes: 16 });
      try {
        await using elsewhere = new Scene();
        await using scene = new Scene(join(image.path, "scene"));
        const { drydock, plan, sandbox } = await scene.plan({ stateDir: elsewhere.stateDir });
        await drydock.plans.write(plan.id, "original", "file", Buffer.alloc(100_000, "p"));
        mkdirSync(join(sandbox, "new"));
        for (let at = 0; at < 50; at += 1) writeFileSync(join(sandbox, "new", `file-${at}`), "planned\n");
        const before = snapshotTree(scene.at("original"));
        fill(join(image.path, "filler"));
        const error = await failureOf(drydock.plans.apply(plan.id));
        assert.deepEqual(error.conflicts, []);
        assertSameTree(snapshotTree(scene.at("original")), before, "the original");
        rmSync(join(image.path, "filler"));
        await drydock.recover();
        assert.equal((await drydock.plans.apply(plan.id)).state, "applied");
        assert.equal(readdirSync(scene.at("original/new")).length, 50);
      } finally {
        image.remove();
      }
    },
  );

  it("[A10] what the user may not change is found before anything is changed", rooted, async () => {
    await using scene = new Scene();
    giveAway(scene);
    chownSync(scene.at("original/folder"), 0, 0);
    const made = await runProcess(
      {
        stateDir: scene.stateDir,
        calls: [
          [
            "create",
            { name: "p", resources: [{ location: scene.at("original"), strategy: "filesystem_copy" }] },
          ],
        ],
      },
      { wrapper: AS_NOBODY },
    );
    assert.equal(made.code, 0, made.stderr);
    const before = snapshotTree(scene.at("original"));
    const end = await runProcess(
      {
        stateDir: scene.stateDir,
        calls: [
          ["write", "p", "original", "file", "planned\n"],
          ["write", "p", "original", "folder/inner", "planned\n"],
          ["apply", "p"],
        ],
      },
      { wrapper: AS_NOBODY },
    );
    const { message, details } = lastError(end);
    assert.match(message, /folder does not let you change what is in it/);
    assert.deepEqual(details["notUndone"], []);
    assertSameTree(snapshotTree(scene.at("original")), before, "the original");
  });

  it(
    "[A11] read-only folders of the user's own are no obstacle, and are read-only again, exactly",
    rooted,
    async () => {
      await using scene = new Scene();
      for (const folder of ["locked", "locked/deep", "locked/goes", "locked/replaced"]) {
        mkdirSync(scene.at(`original/${folder}`));
        writeFileSync(scene.at(`original/${folder}/file`), "old\n");
        chmodSync(scene.at(`original/${folder}/file`), 0o444);
      }
      giveAway(scene);
      for (const folder of ["locked/goes", "locked/replaced", "locked/deep", "locked"])
        chmodSync(scene.at(`original/${folder}`), 0o555);
      const before = snapshotTree(scene.at("original"));
      const run = (...calls: Parameters<typeof runProcess>[0]["calls"]) =>
        runProcess({ stateDir: scene.stateDir, calls }, { wrapper: AS_NOBODY });
      const sandbox = lastResult<string>(
        await run(
          [
            "create",
            { name: "p", resources: [{ location: scene.at("original"), strategy: "filesystem_copy" }] },
          ],
          ["path", "p"],
        ),
      );
      for (const path of ["locked/file", "locked/added", "locked/deep/file"]) {
        writeFileSync(join(sandbox, path), "planned\n");
        chownSync(join(sandbox, path), NOBODY, NOBODY);
      }
      rmSync(join(sandbox, "locked/goes"), { recursive: true });
      rmSync(join(sandbox, "locked/replaced"), { recursive: true });
      writeFileSync(join(sandbox, "locked/replaced"), "a file now\n");
      chownSync(join(sandbox, "locked/replaced"), NOBODY, NOBODY);
      const wanted = snapshotTree(sandbox);
      assert.deepEqual(lastResult<ApplyResult>(await run(["apply", "p"])).attention, []);
      assertSameTree(snapshotTree(scene.at("original")), wanted, "after the apply");
      assert.equal(lastResult<ApplyResult>(await run(["undo", "p"])).state, "undone");
      assertSameTree(snapshotTree(scene.at("original")), before, "after the undo");
    },
  );
});

function giveAway(scene: Scene): void {
  mkdirSync(scene.stateDir, { mode: 0o700 });
  execFileSync("chown", ["-R", `${NOBODY}:${NOBODY}`, scene.base]);
}

/** Takes every block and every reserved one. */
function fill(path: string): void {
  for (const size of [1 << 20, 4096, 1024]) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size), { flag: "a" });
    } catch (thrown) {
      if (!(thrown instanceof Error && "code" in thrown && thrown.code === "ENOSPC")) throw thrown;
    }
  }
}

async function failureOf(promise: Promise<unknown>): Promise<AtomicCommitError> {
  const error = await promise.then(
    () => assert.fail("it succeeded"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof AtomicCommitError, String(error));
  return error;
}
