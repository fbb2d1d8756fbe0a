import type { ConformanceCase } from "../../conformance-case.ts";
import { expect, expectEqual } from "../../expectation.ts";
import { workOfEveryKind } from "../../tree/mixed-work.ts";

/** prepare, commitPrepared and rollbackPrepared. */
export const twoPhaseCases: readonly ConformanceCase[] = [
  {
    name: "lands what it prepared, exactly, in another process",
    group: "two-phase",
    needs: ["two-phase", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.work(workOfEveryKind(bench));
      const transaction = sandbox.transaction("t1");
      const prepared = await sandbox.prepareChanges(transaction);
      expect(prepared.changes > 0, "the prepared commit counts no changes");
      const result = await sandbox.commitPrepared(transaction, prepared);
      expectEqual(result.attention, [], "what the commit wants a person to look at");
      await bench.expectOriginalIsOracle("the original should be as the plain folder");
    },
  },
  {
    name: "can be told to land any number of times",
    group: "two-phase",
    needs: ["two-phase", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.work(workOfEveryKind(bench));
      const transaction = sandbox.transaction("t1");
      const prepared = await sandbox.prepareChanges(transaction);
      for (const time of ["first", "second", "third"]) {
        await sandbox.commitPrepared(transaction, prepared);
        await bench.expectOriginalIsOracle(
          `after commitPrepared for the ${time} time the original should be as the plain folder`,
        );
      }
    },
  },
  {
    name: "gives the work back when what it prepared is taken back",
    group: "two-phase",
    needs: ["two-phase", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone(workOfEveryKind(bench));
      const [work, changes] = [await sandbox.snapshot(), await sandbox.changes()];
      const transaction = sandbox.transaction("t1");
      const prepared = await sandbox.prepareChanges(transaction);
      await sandbox.rollbackPrepared(transaction, prepared);
      await sandbox.expectIs(work, "the sandbox after rollbackPrepared should be as before prepare");
      await sandbox.rollbackPrepared(transaction, prepared);
      await sandbox.expectIs(work, "the sandbox after a second rollbackPrepared should be as before prepare");
      expectEqual(await sandbox.changes(), changes, "the diff after rollbackPrepared");
    },
  },
  {
    name: "gives the work back without being told what prepare returned",
    group: "two-phase",
    needs: ["two-phase", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone(workOfEveryKind(bench));
      const work = await sandbox.snapshot();
      const transaction = sandbox.transaction("t1");
      await sandbox.prepare(transaction);
      await sandbox.rollbackPrepared(transaction);
      await sandbox.expectIs(work, "the sandbox after rollbackPrepared should be as before prepare");
    },
  },
  {
    name: "takes back a prepare that never began",
    group: "two-phase",
    needs: ["two-phase", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone(workOfEveryKind(bench));
      const work = await sandbox.snapshot();
      await sandbox.rollbackPrepared(sandbox.transaction("never"));
      await sandbox.expectIs(work, "the sandbox should be as before");
    },
  },
  {
    name: "lands after a first try was taken back",
    group: "two-phase",
    needs: ["two-phase", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.work(workOfEveryKind(bench));
      const first = sandbox.transaction("t1");
      await sandbox.rollbackPrepared(first, await sandbox.prepareChanges(first));
      const second = sandbox.transaction("t2");
      await sandbox.commitPrepared(second, await sandbox.prepareChanges(second));
      await bench.expectOriginalIsOracle("the original should be as the plain folder");
    },
  },
];
