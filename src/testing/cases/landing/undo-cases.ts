import type { ConformanceCase } from "../../conformance-case.ts";
import { expectEqual, expectRefusal } from "../../expectation.ts";
import { workOfEveryKind } from "../../tree/mixed-work.ts";

/** A landed commit can be taken back. */
export const undoCases: readonly ConformanceCase[] = [
  {
    name: "takes a commit back by rollback, exactly",
    group: "undo",
    needs: ["undo", "isolation", "path"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await sandbox.workAlone(workOfEveryKind(bench));
      await sandbox.commit();
      await sandbox.rollback();
      await bench.expectOriginal(before, "the original after a rollback should be as before the commit");
      expectEqual(await sandbox.changes(), [], "the diff after a rollback");
    },
  },
  {
    name: "takes a landed transaction back by one of the other direction, exactly",
    group: "undo",
    needs: ["two-phase", "undo", "path"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await sandbox.workAlone(workOfEveryKind(bench));
      const undo = await sandbox.land(sandbox.transaction("t1"));
      const prepared = await sandbox.prepareChanges(undo);
      await sandbox.commitPrepared(undo, prepared);
      await bench.expectOriginal(before, "the original after undo should be as before the commit");
      await sandbox.commitPrepared(undo, prepared);
      await bench.expectOriginal(before, "the original after a repeated undo should be as before the commit");
    },
  },
  {
    name: "takes a landed transaction back after its sandbox was cleaned up",
    group: "undo",
    needs: ["two-phase", "undo", "path"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await sandbox.workAlone(workOfEveryKind(bench));
      const undo = await sandbox.land(sandbox.transaction("t1"));
      await sandbox.cleanup();
      await sandbox.commitPrepared(undo, await sandbox.prepareChanges(undo));
      await bench.expectOriginal(before, "the original after undo should be as before the commit");
    },
  },
  {
    name: "leaves what landed alone when a prepared undo is taken back",
    group: "undo",
    needs: ["two-phase", "undo", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.work(workOfEveryKind(bench));
      const undo = await sandbox.land(sandbox.transaction("t1"));
      await sandbox.rollbackPrepared(undo, await sandbox.prepareChanges(undo));
      await bench.expectOriginalIsOracle("the original should be as it landed");
      await sandbox.rollbackPrepared(undo);
      await bench.expectOriginalIsOracle("the original should still be as it landed");
    },
  },
  {
    name: "refuses to undo over what another writer changed since",
    group: "undo",
    needs: ["two-phase", "undo"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.write("readme.txt", "work\n");
      const undo = await sandbox.land(sandbox.transaction("t1"));
      await bench.otherWriterWrites("readme.txt", "the other writer's\n");
      const theirs = await bench.original();
      await expectRefusal(
        () => sandbox.prepare(undo),
        "an undo over another writer's change",
        "SandboxConflictError",
      );
      await bench.expectOriginal(theirs, "the original should be as they left it");
    },
  },
];
