import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { SandboxRef } from "../../src/core/sandbox.ts";
import type { Transaction } from "../../src/core/strategy.ts";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";
import { OverlayStrategy } from "../../src/strategies/overlay/overlay.ts";
import { armFailpoints } from "../../src/system/failpoints.ts";
import { BY_FUSE, BY_KERNEL } from "../support/overlay-runs.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { contextIn } from "../support/strategy-context.ts";

for (const { way, title, skip } of [BY_KERNEL, BY_FUSE])
  describe(`A sandbox ${title}, whose work landed and was taken back`, { skip }, () => {
    let base = "";
    let original = "";
    let strategy: OverlayStrategy;
    let ref: SandboxRef;

    beforeEach(async () => {
      base = mkdtempSync(join(tmpdir(), "drydock-isolation-"));
      original = join(base, "original");
      for (const folder of [original, join(base, "state")]) mkdirSync(folder);
      writeFileSync(join(original, "file"), "old\n");
      strategy = new OverlayStrategy(contextIn(join(base, "state")), [way satisfies OverlayWay]);
      const resource = { id: "r", name: "r", type: "fs-directory", location: original, properties: {} };
      ref = await strategy.create("plan", resource);
      writeFileSync(join(await strategy.path(ref), "file"), "landed\n");
      writeFileSync(join(await strategy.path(ref), "new"), "landed\n");
    });

    afterEach(async () => {
      armFailpoints(undefined);
      await strategy.cleanup(ref);
      removeFolder(base);
    });

    /** What programs write now stays in the sandbox. */
    async function assertIsolated(): Promise<void> {
      const path = await strategy.path(ref);
      assert.notEqual(statSync(join(path, "file")).dev, statSync(join(original, "file")).dev);
      appendFileSync(join(path, "file"), "inside\n");
      writeFileSync(join(path, "another"), "inside\n");
      assert.equal(readFileSync(join(original, "file"), "utf8"), "old\n");
      assert.throws(() => statSync(join(original, "another")), { code: "ENOENT" });
      assert.deepEqual(
        (await strategy.diff(ref)).changes.map((change) => change.path),
        ["another", "file"],
      );
    }

    it("[O6] is isolated again after a rollback", async () => {
      await strategy.commit(ref);
      assert.equal(readFileSync(join(original, "file"), "utf8"), "landed\n");
      await strategy.rollback(ref);
      await assertIsolated();
    });

    it("[O6] is isolated again after an undo", async () => {
      const commit: Transaction = { id: "commit", planId: "plan", direction: "commit" };
      const prepared = await strategy.prepare(ref, commit);
      assert.ok(prepared !== null);
      await strategy.commitPrepared(ref, commit, prepared);
      const undo: Transaction = {
        id: "undo",
        planId: "plan",
        direction: "undo",
        undoes: { id: "commit", prepared },
      };
      const back = await strategy.prepare(ref, undo);
      assert.ok(back !== null);
      await strategy.commitPrepared(ref, undo, back);
      await assertIsolated();
    });

    it("[O7] says that the original is restored and the sandbox is not, if only that failed", async () => {
      await strategy.commit(ref);
      armFailpoints("overlay.create-upper=error");
      await assert.rejects(
        strategy.rollback(ref),
        ({ message }: Error) =>
          message.startsWith(`${original} is as it was before, but its sandbox could not be reset: `) &&
          /EIO/.test(message),
      );
      assert.equal(readFileSync(join(original, "file"), "utf8"), "old\n");
      armFailpoints(undefined);
      await strategy.rollback(ref);
      await assertIsolated();
    });

    it("[O7] says that it could not be rolled back, if the original is not restored", async () => {
      await strategy.commit(ref);
      armFailpoints("land.exchange=error");
      await assert.rejects(
        strategy.rollback(ref),
        /^SandboxRollbackError: The sandbox of .* could not be rolled back: /,
      );
      assert.equal(readFileSync(join(original, "file"), "utf8"), "landed\n");
      armFailpoints(undefined);
      await strategy.rollback(ref);
      await assertIsolated();
    });
  });
