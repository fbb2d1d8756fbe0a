import type { ConformanceCase } from "../../conformance-case.ts";
import { expectEqual } from "../../expectation.ts";
import { expectContent, FILE } from "../../process/cut-off.ts";
import { arriveLate } from "../../process/late-request.ts";
import type { SandboxBench } from "../../sandbox-bench.ts";

const KILLED = "killed";

type Prepared = Awaited<ReturnType<SandboxBench["prepareChanges"]>>;

/** Prepared work in a sandbox, and the call that lands it. */
async function prepareWork(sandbox: SandboxBench, text: string) {
  await sandbox.write(FILE, text);
  const transaction = sandbox.transaction(KILLED);
  const prepared = await sandbox.prepareChanges(transaction);
  return { prepared, call: { method: "commitPrepared", args: [sandbox.ref, transaction, prepared] } };
}

/**
 * The process that calls a strategy is killed, but its request to a server is still under way, and takes
 * effect after another process has gone on. The result of that other process has to stay.
 */
export const lateRequestCases: readonly ConformanceCase[] = [
  {
    name: "takes a commit back by rollback whose requests arrive late",
    group: "late requests",
    needs: ["process", "gate", "undo", "isolation"],
    run: async (bench) => {
      const before = await bench.original();
      await arriveLate(bench, {
        arrange: async (sandbox, at) => {
          await sandbox.write(FILE, `work ${at}\n`);
          return { method: "commit", args: [sandbox.ref] };
        },
        goOn: async (sandbox, _at, when) => {
          await sandbox.rollback();
          await bench.expectOriginal(before, `${when}: the original should be as before`);
        },
        stays: async (when) =>
          await bench.expectOriginal(before, `${when}: the original should be as before`),
      });
    },
  },
  {
    name: "finishes a commitPrepared whose requests arrive late",
    group: "late requests",
    needs: ["process", "gate", "two-phase"],
    run: async (bench) => {
      let [landed, prepared]: [string, Prepared | undefined] = ["", undefined];
      await arriveLate(bench, {
        arrange: async (sandbox, at) => {
          landed = `landed ${at}\n`;
          const work = await prepareWork(sandbox, landed);
          prepared = work.prepared;
          return work.call;
        },
        goOn: async (sandbox, _at, when) => {
          if (prepared !== undefined) await sandbox.commitPrepared(sandbox.transaction(KILLED), prepared);
          await expectContent(bench, landed, when);
        },
        stays: async (when) => await expectContent(bench, landed, when),
      });
    },
  },
  {
    name: "gives a landing up whose requests arrive late",
    group: "late requests",
    needs: ["process", "gate", "two-phase", "undo"],
    run: async (bench) => {
      const before = await bench.original();
      let prepared: Prepared | undefined;
      await arriveLate(bench, {
        arrange: async (sandbox, at) => {
          const work = await prepareWork(sandbox, `work ${at}\n`);
          prepared = work.prepared;
          return work.call;
        },
        goOn: async (sandbox, at, when) => {
          await sandbox.rollbackPrepared(sandbox.transaction(KILLED), prepared);
          expectEqual(await sandbox.read(FILE), `work ${at}\n`, `${when}: the work`);
          await bench.expectOriginal(before, `${when}: the original should be as before`);
        },
        stays: async (when) =>
          await bench.expectOriginal(before, `${when}: the original should be as before`),
      });
    },
  },
  {
    name: "gives an undo up whose requests arrive late",
    group: "late requests",
    needs: ["process", "gate", "two-phase", "undo"],
    run: async (bench) => {
      let [landed, prepared]: [string, Prepared | undefined] = ["", undefined];
      let undo: ReturnType<SandboxBench["transaction"]> | undefined;
      await arriveLate(bench, {
        arrange: async (sandbox, at) => {
          landed = `landed ${at}\n`;
          await sandbox.write(FILE, landed);
          undo = await sandbox.land(sandbox.transaction(KILLED));
          prepared = await sandbox.prepareChanges(undo);
          return { method: "commitPrepared", args: [sandbox.ref, undo, prepared] };
        },
        goOn: async (sandbox, _at, when) => {
          if (undo !== undefined) await sandbox.rollbackPrepared(undo, prepared);
          await expectContent(bench, landed, when);
        },
        stays: async (when) => await expectContent(bench, landed, when),
      });
    },
  },
];
