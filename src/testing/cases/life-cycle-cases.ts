import type { ConformanceCase } from "../conformance-case.ts";
import { expect, expectEqual, expectRefusal } from "../expectation.ts";
import { OTHER_PLAN_ID, PLAN_ID } from "../plan-ids.ts";

/** From create to cleanup. */
export const lifeCycleCases: readonly ConformanceCase[] = [
  {
    name: "refuses a second create of the same sandbox with SandboxStateError",
    group: "life cycle",
    needs: [],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.write("readme.txt", "work\n");
      await expectRefusal(
        () => bench.fresh().create(PLAN_ID, bench.resource),
        "a second create of the same sandbox",
        "SandboxStateError",
      );
      expectEqual(await sandbox.read("readme.txt"), "work\n", "the work after the refused create");
    },
  },
  {
    name: "keeps the sandboxes of two plans apart",
    group: "life cycle",
    needs: ["isolation"],
    run: async (bench) => {
      const [first, second] = [await bench.sandbox(), await bench.sandbox(OTHER_PLAN_ID)];
      await first.write("readme.txt", "first\n");
      await second.write("readme.txt", "second\n");
      expectEqual(await first.read("readme.txt"), "first\n", "the first plan's file");
      expectEqual(await second.read("readme.txt"), "second\n", "the second plan's file");
      await second.cleanup();
      expectEqual(
        await first.read("readme.txt"),
        "first\n",
        "the first plan's file after the second's cleanup",
      );
    },
  },
  {
    name: "shows the original again after a rollback",
    group: "life cycle",
    needs: ["isolation", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      const before = await bench.original();
      await sandbox.workAlone((tree) => {
        tree.write("readme.txt", "work\n");
        tree.remove("gone");
        tree.makeFolder("more");
        tree.setMode("tool.sh", 0o700);
      });
      await sandbox.rollback();
      await sandbox.expectIs(before, "the sandbox after a rollback should be as the original");
      expectEqual(await sandbox.changes(), [], "the diff after a rollback");
      await bench.expectOriginal(before, "the original should be as before");
    },
  },
  {
    name: "is usable after a rollback: the next work is seen, and lands",
    group: "life cycle",
    needs: ["isolation"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.write("readme.txt", "thrown away\n");
      await sandbox.rollback();
      await sandbox.write("second.txt", "kept\n");
      expectEqual(
        await sandbox.changes(),
        ["added file second.txt"],
        "the diff of the work after the rollback",
      );
      await sandbox.commit();
      const after = await bench.sandbox("another");
      expectEqual(await after.read("second.txt"), "kept\n", "what landed");
      expectEqual(await after.read("readme.txt"), "one\ntwo\nthree\n", "what was thrown away");
    },
  },
  {
    name: "is usable after a commit, on what landed",
    group: "life cycle",
    needs: ["isolation"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.write("readme.txt", "first\n");
      await sandbox.commit();
      expectEqual(await sandbox.changes(), [], "the diff after a commit");
      await sandbox.write("readme.txt", "second\n");
      expectEqual(
        await sandbox.changes(),
        ["modified file readme.txt"],
        "the diff of the work after a commit",
      );
      await sandbox.commit();
      const after = await bench.sandbox("another");
      expectEqual(await after.read("readme.txt"), "second\n", "what landed");
    },
  },
  {
    name: "cleans up any number of times, and leaves the original alone",
    group: "life cycle",
    needs: [],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      const before = await bench.original();
      await sandbox.cleanup();
      await sandbox.cleanup();
      await bench.expectOriginal(before, "the original after cleanup should be as before");
      const again = await bench.sandbox();
      expectEqual(
        await again.read("readme.txt"),
        "one\ntwo\nthree\n",
        "what a new sandbox after cleanup shows",
      );
    },
  },
  {
    name: "cleans up, and makes again, a sandbox whose create died right after its intent",
    group: "life cycle",
    needs: [],
    run: async (bench) => {
      const before = await bench.original();
      bench.failNextIntent();
      await expectRefusal(() => bench.sandbox(), "create, when its intent can't be recorded,");
      const intended = bench.intents.at(-1);
      expect(intended !== undefined, "create did not call recordIntent");
      await bench.fresh().cleanup(intended.ref);
      await bench.expectOriginal(before, "the original should be as before");
      const again = await bench.sandbox();
      expectEqual(
        await again.read("readme.txt"),
        "one\ntwo\nthree\n",
        "what the sandbox made after that shows",
      );
    },
  },
];
