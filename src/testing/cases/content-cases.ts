import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectRefusal } from "../expectation.ts";
import { OTHER_PLAN_ID } from "../plan-ids.ts";
import type { SandboxBench } from "../sandbox-bench.ts";

/** Every byte value, twice, so that no reader of text goes unnoticed. */
const EVERY_BYTE = Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256)).toString("latin1");

async function workIn(sandbox: SandboxBench): Promise<void> {
  await sandbox.write("readme.txt", "work\n");
  await sandbox.write("made/here.txt", EVERY_BYTE);
}

/** What holds for every resource with content by path, folder or not: all work is done by `write`. */
export const contentCases: readonly ConformanceCase[] = [
  {
    name: "leaves the original alone while it is written to, diffed and removed",
    group: "isolation",
    needs: ["isolation"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await workIn(sandbox);
      await sandbox.diff();
      await bench.expectOriginal(before, "the original after writes should be as before");
      await sandbox.cleanup();
      await bench.expectOriginal(before, "the original after cleanup should be as before");
    },
  },
  {
    name: "finds what was written, and nothing else",
    group: "diff",
    needs: ["isolation"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await workIn(sandbox);
      const files = (await sandbox.changes()).filter((line) => line.includes(" file "));
      expectEqual(files, ["added file made/here.txt", "modified file readme.txt"], "the diff");
    },
  },
  {
    name: "lands what was written, byte by byte, and nothing else",
    group: "exactness",
    needs: ["isolation"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      const others = [...(await bench.original())].filter(
        ([path]) => path === "src/app.ts" || path === "image.bin",
      );
      await workIn(sandbox);
      await sandbox.commit();
      const after = await bench.sandbox(OTHER_PLAN_ID);
      expectEqual(await after.read("made/here.txt"), EVERY_BYTE, "a new file");
      expectEqual(await after.read("readme.txt"), "work\n", "a file that was written over");
      const now = await bench.original();
      for (const [path, entry] of others)
        expectEqual(now.get(path), entry, `${path}, which the plan did not write`);
    },
  },
  {
    name: "takes what was written back by rollback, also after it landed",
    group: "undo",
    needs: ["undo", "isolation"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await workIn(sandbox);
      await sandbox.commit();
      await sandbox.rollback();
      await bench.expectOriginal(before, "the original after a rollback should be as before the commit");
      expectEqual(await sandbox.changes(), [], "the diff after a rollback");
    },
  },
  {
    name: "prepares what was written without touching the original, lands it, and lands it again as nothing new",
    group: "two-phase",
    needs: ["two-phase"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await workIn(sandbox);
      const transaction = sandbox.transaction("t1");
      const prepared = await sandbox.prepareChanges(transaction);
      await bench.expectOriginal(before, "the original after prepare should be as before");
      await sandbox.commitPrepared(transaction, prepared);
      const landed = await bench.original();
      await sandbox.commitPrepared(transaction, prepared);
      await bench.expectOriginal(
        landed,
        "the original after a second commitPrepared should be as after the first",
      );
      const after = await bench.sandbox(OTHER_PLAN_ID);
      expectEqual(await after.read("readme.txt"), "work\n", "what landed");
    },
  },
  {
    name: "takes a prepare back, and still has the work",
    group: "two-phase",
    needs: ["two-phase"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await workIn(sandbox);
      const transaction = sandbox.transaction("t1");
      await sandbox.rollbackPrepared(transaction, await sandbox.prepareChanges(transaction));
      await sandbox.rollbackPrepared(transaction);
      await bench.expectOriginal(before, "the original should be as before");
      expectEqual(await sandbox.read("made/here.txt"), EVERY_BYTE, "the work in the sandbox");
      const second = sandbox.transaction("t2");
      await sandbox.commitPrepared(second, await sandbox.prepareChanges(second));
      const after = await bench.sandbox(OTHER_PLAN_ID);
      expectEqual(await after.read("readme.txt"), "work\n", "what landed at the second try");
    },
  },
  {
    name: "takes a landed transaction back by one of the other direction",
    group: "undo",
    needs: ["two-phase", "undo"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await workIn(sandbox);
      const transaction = sandbox.transaction("t1");
      const prepared = await sandbox.prepareChanges(transaction);
      await sandbox.commitPrepared(transaction, prepared);
      const undo = sandbox.transaction("undo-t1", { id: "t1", prepared });
      await sandbox.commitPrepared(undo, await sandbox.prepareChanges(undo));
      await bench.expectOriginal(before, "the original after the undo should be as before");
    },
  },
  {
    name: "refuses to land over what another writer wrote meanwhile, and keeps both",
    group: "conflicts",
    needs: ["isolation"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await workIn(sandbox);
      await bench.otherWriterWrites("readme.txt", "the other writer's\n");
      const theirs = await bench.original();
      await expectRefusal(
        () => sandbox.commit(),
        "a commit over another writer's change",
        "SandboxConflictError",
      );
      await bench.expectOriginal(theirs, "the original should be as they left it");
      expectEqual(await sandbox.read("readme.txt"), "work\n", "the work in the sandbox");
    },
  },
  {
    name: "never loses what another writer wrote elsewhere: the work lands beside it, or is refused",
    group: "conflicts",
    needs: ["isolation"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await workIn(sandbox);
      await bench.otherWriterWrites("src/app.ts", "the other writer's\n");
      const landed = await sandbox.commit().then(
        () => "work\n",
        (thrown: unknown) => {
          // A strategy that can't tell one entry from another may refuse.
          if (!(thrown instanceof Error) || thrown.name !== "SandboxConflictError") throw thrown;
          return "one\ntwo\nthree\n";
        },
      );
      const after = await bench.sandbox(OTHER_PLAN_ID);
      expectEqual(await after.read("src/app.ts"), "the other writer's\n", "what the other writer wrote");
      expectEqual(await after.read("readme.txt"), landed, "what landed");
    },
  },
];
