import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectRefusal } from "../expectation.ts";
import { workOfEveryKind } from "../tree/mixed-work.ts";

/** Saved states of a sandbox. */
export const checkpointCases: readonly ConformanceCase[] = [
  {
    name: "brings back exactly the state of a checkpoint: what was added is gone, what was deleted is back",
    group: "checkpoints",
    needs: ["checkpoint", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone(workOfEveryKind(bench));
      const [saved, changes] = [await sandbox.snapshot(), await sandbox.changes()];
      await sandbox.checkpoint("c1");
      await sandbox.workAlone((tree) => {
        tree.write("added-since", "x");
        tree.remove("fresh");
        tree.remove("src");
        tree.write("readme.txt", "worse\n");
        tree.setMode("tool.sh", 0o600);
        tree.setXattr(".", "user.since", "set");
        tree.setMode(".", 0o700);
        tree.remove("link");
        tree.makeLink("link", "empty");
      });
      const shown = await sandbox.savedChanges("c1");
      if (shown !== undefined) expectEqual(shown, changes, "the changes that the checkpoint shows");
      await sandbox.restoreCheckpoint("c1");
      await sandbox.expectIs(saved, "the sandbox should be as it was at the checkpoint");
      expectEqual(await sandbox.changes(), changes, "the diff after restoring");
    },
  },
  {
    name: "restores the same checkpoint again",
    group: "checkpoints",
    needs: ["checkpoint"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.write("readme.txt", "saved\n");
      await sandbox.checkpoint("c1");
      for (const later of ["second\n", "third\n"]) {
        await sandbox.write("readme.txt", later);
        await sandbox.restoreCheckpoint("c1");
        expectEqual(await sandbox.read("readme.txt"), "saved\n", "the file after restoring");
      }
    },
  },
  {
    name: "keeps several checkpoints apart",
    group: "checkpoints",
    needs: ["checkpoint"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.write("readme.txt", "first\n");
      await sandbox.checkpoint("c1");
      await sandbox.write("readme.txt", "second\n");
      await sandbox.checkpoint("c2");
      await sandbox.write("readme.txt", "third\n");
      await sandbox.restoreCheckpoint("c2");
      expectEqual(await sandbox.read("readme.txt"), "second\n", "the file at the second checkpoint");
      await sandbox.restoreCheckpoint("c1");
      expectEqual(await sandbox.read("readme.txt"), "first\n", "the file at the first checkpoint");
    },
  },
  {
    name: "lands what a checkpoint brought back, and nothing else",
    group: "checkpoints",
    needs: ["checkpoint", "isolation", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.work(workOfEveryKind(bench));
      await sandbox.checkpoint("c1");
      await sandbox.workAlone((tree) => {
        tree.write("added-since", "x");
        tree.remove(bench.losses.includes("read-only-folders") ? "gone" : "locked");
        tree.write("same-size", "bbbb");
      });
      await sandbox.restoreCheckpoint("c1");
      await sandbox.commit();
      await bench.expectOriginalIsOracle("the original should be as the plain folder");
    },
  },
  {
    name: "refuses a checkpoint that was never made, and keeps the work",
    group: "checkpoints",
    needs: ["checkpoint"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.write("readme.txt", "work\n");
      await expectRefusal(
        () => sandbox.restoreCheckpoint("never"),
        "restoring a checkpoint that was never made",
      );
      expectEqual(await sandbox.read("readme.txt"), "work\n", "the work after that");
    },
  },
  {
    name: "leaves the original alone",
    group: "checkpoints",
    needs: ["checkpoint", "isolation"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await sandbox.write("readme.txt", "work\n");
      await sandbox.checkpoint("c1");
      await sandbox.write("src/app.ts", "more work\n");
      await sandbox.restoreCheckpoint("c1");
      await bench.expectOriginal(before, "the original should be as before");
    },
  },
];
