import type { ConformanceCase } from "../conformance-case.ts";
import { expectNone } from "../expectation.ts";
import { workOfEveryKind } from "../tree/mixed-work.ts";
import { inodesOf } from "../tree/tree-snapshot.ts";

function sharedInodes(first: string, second: string): string[] {
  const theirs = new Map([...inodesOf(second)].map(([path, inode]) => [inode, path]));
  return [...inodesOf(first)].flatMap(([path, inode]) => {
    const other = theirs.get(inode);
    return other === undefined ? [] : [`${path} is the same inode as ${other}`];
  });
}

/** The original is untouched until the work lands. */
export const isolationCases: readonly ConformanceCase[] = [
  {
    name: "leaves the original alone while the sandbox is made, worked in, diffed and removed",
    group: "isolation",
    needs: ["isolation", "path"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await bench.expectOriginal(before, "the original after create should be as before");
      await sandbox.workAlone(workOfEveryKind(bench));
      await sandbox.diff();
      await bench.expectOriginal(before, "the original after work in the sandbox should be as before");
      await sandbox.cleanup();
      await bench.expectOriginal(before, "the original after cleanup should be as before");
    },
  },
  {
    name: "leaves the original alone while it prepares and takes that back",
    group: "isolation",
    needs: ["isolation", "path", "two-phase"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await sandbox.workAlone(workOfEveryKind(bench));
      const transaction = sandbox.transaction("t1");
      const prepared = await sandbox.prepareChanges(transaction);
      await bench.expectOriginal(before, "the original after prepare should be as before");
      await sandbox.rollbackPrepared(transaction, prepared);
      await bench.expectOriginal(before, "the original after rollbackPrepared should be as before");
    },
  },
  {
    name: "shows in a new sandbox exactly what the original is",
    group: "isolation",
    needs: ["path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.expectIs(await bench.original(), "the new sandbox should be as the original");
    },
  },
  {
    name: "never shares an inode between sandbox and original",
    group: "isolation",
    needs: ["isolation", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      const path = await sandbox.path();
      expectNone(sharedInodes(path, bench.originalPath), "after create");
      await sandbox.workAlone((tree) => {
        workOfEveryKind(bench)(tree);
        tree.makeHardLink("tool-too.sh", "tool.sh");
      });
      await sandbox.commit();
      expectNone(sharedInodes(await sandbox.path(), bench.originalPath), "after a commit");
    },
  },
  {
    name: "does not see what others write to the original as work of its own",
    group: "isolation",
    needs: ["isolation"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.write("notes.txt", "mine\n");
      await bench.otherWriterWrites("src/app.ts", "the other writer's\n");
      const mine = (await sandbox.changes()).filter((change) => !change.endsWith(" notes.txt"));
      expectNone(mine, "the diff should hold nothing but notes.txt");
    },
  },
];
