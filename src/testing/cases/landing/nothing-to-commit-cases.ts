import type { ConformanceCase } from "../../conformance-case.ts";
import { expectEqual } from "../../expectation.ts";

/** A sandbox without work takes part in a commit and costs nothing. */
export const nothingToCommitCases: readonly ConformanceCase[] = [
  {
    name: "commits a sandbox without work as no change",
    group: "nothing to commit",
    needs: [],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      expectEqual(await sandbox.commit(), { changes: 0, attention: [] }, "the result of the commit");
      await bench.expectOriginal(before, "the original should be as before");
    },
  },
  {
    name: "prepares a sandbox without work as null, and takes that back as a matter of course",
    group: "nothing to commit",
    needs: ["two-phase"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      const transaction = sandbox.transaction("t1");
      expectEqual(await sandbox.prepare(transaction), null, "what prepare returned");
      await sandbox.rollbackPrepared(transaction);
      await bench.expectOriginal(before, "the original should be as before");
    },
  },
  {
    name: "commits work that was taken back by hand as no change",
    group: "nothing to commit",
    needs: ["isolation"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.write("made.txt", "1\n");
      await sandbox.rollback();
      expectEqual((await sandbox.commit()).changes, 0, "the changes that landed");
    },
  },
];
