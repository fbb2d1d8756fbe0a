import type { ConformanceCase } from "../../conformance-case.ts";
import { expectEqual } from "../../expectation.ts";
import { cutOff, expectContent, FILE, momentOf, trialPlanId, victimOf } from "../../process/cut-off.ts";
import type { Death } from "../../process/victim-protocol.ts";
import type { SandboxBench } from "../../sandbox-bench.ts";

/** The process that calls a strategy is killed during the call, and another one goes on. */
export const crashCases: readonly ConformanceCase[] = [
  {
    name: "cleans up, and makes again, a sandbox whose create was killed",
    group: "crash",
    needs: ["process"],
    run: async (bench) => {
      const before = await bench.original();
      const make = async (at: number, death?: Death) => {
        const end = await victimOf(bench).call("create", [trialPlanId(at), bench.resource], death);
        const when = death === undefined ? "after create" : `create was killed ${momentOf(death)}`;
        for (const line of end.lines) if (line.kind === "intent") await bench.fresh().cleanup(line.ref);
        await bench.expectOriginal(before, `${when}: the original should be as before`);
        const again = await bench.sandbox(trialPlanId(at));
        expectEqual(await again.read(FILE), "one\ntwo\nthree\n", `${when}: what a new sandbox shows`);
        await again.cleanup();
        return end;
      };
      const moments = victimOf(bench).momentsOf(await make(0));
      for (const [index, death] of moments.entries()) await make(index + 1, death);
    },
  },
  {
    name: "takes back a prepare that was killed: the original is untouched, and the work lands later",
    group: "crash",
    needs: ["process", "two-phase"],
    run: async (bench) => {
      let landed = "one\ntwo\nthree\n";
      await cutOff(bench, {
        arrange: async (sandbox, at) => {
          await sandbox.write(FILE, `work ${at}\n`);
          return { method: "prepare", args: [sandbox.ref, sandbox.transaction("killed")] };
        },
        goOn: async (sandbox, at, when) => {
          await sandbox.rollbackPrepared(sandbox.transaction("killed"));
          expectEqual(await sandbox.read(FILE), `work ${at}\n`, `${when}: the work`);
          await expectContent(bench, landed, when);
          landed = `work ${at}\n`;
          await sandbox.commit();
          await expectContent(bench, landed, `${when}, and landed later`);
        },
      });
    },
  },
  {
    name: "finishes a commitPrepared that was killed, in another process",
    group: "crash",
    needs: ["process", "two-phase"],
    run: async (bench) => {
      const prepared = new Map<number, Awaited<ReturnType<SandboxBench["prepareChanges"]>>>();
      await cutOff(bench, {
        arrange: async (sandbox, at) => {
          await sandbox.write(FILE, `landed ${at}\n`);
          const transaction = sandbox.transaction("killed");
          const made = await sandbox.prepareChanges(transaction);
          prepared.set(at, made);
          return { method: "commitPrepared", args: [sandbox.ref, transaction, made] };
        },
        goOn: async (sandbox, at, when) => {
          const made = prepared.get(at);
          if (made !== undefined) await sandbox.commitPrepared(sandbox.transaction("killed"), made);
          await expectContent(bench, `landed ${at}\n`, when);
        },
      });
    },
  },
  {
    name: "finishes a rollbackPrepared that was killed, in another process",
    group: "crash",
    needs: ["process", "two-phase"],
    run: async (bench) => {
      await cutOff(bench, {
        arrange: async (sandbox, at) => {
          await sandbox.write(FILE, `work ${at}\n`);
          const transaction = sandbox.transaction("killed");
          return {
            method: "rollbackPrepared",
            args: [sandbox.ref, transaction, await sandbox.prepareChanges(transaction)],
          };
        },
        goOn: async (sandbox, at, when) => {
          await sandbox.rollbackPrepared(sandbox.transaction("killed"));
          expectEqual(await sandbox.read(FILE), `work ${at}\n`, `${when}: the work`);
          await expectContent(bench, "one\ntwo\nthree\n", when);
        },
      });
    },
  },
  {
    name: "takes a commit that was killed back by rollback",
    group: "crash",
    needs: ["process", "undo", "isolation"],
    run: async (bench) => {
      const before = await bench.original();
      await cutOff(bench, {
        arrange: async (sandbox, at) => {
          await sandbox.write(FILE, `work ${at}\n`);
          return { method: "commit", args: [sandbox.ref] };
        },
        goOn: async (sandbox, _at, when) => {
          await sandbox.rollback();
          await bench.expectOriginal(before, `${when}: the original should be as before`);
        },
      });
    },
  },
  {
    name: "restores a checkpoint after a restore that was killed",
    group: "crash",
    needs: ["process", "checkpoint"],
    run: async (bench) => {
      await cutOff(bench, {
        arrange: async (sandbox, at) => {
          await sandbox.write(FILE, `saved ${at}\n`);
          await sandbox.checkpoint("c1");
          await sandbox.write(FILE, "worse\n");
          return { method: "restoreCheckpoint", args: [sandbox.ref, "c1"] };
        },
        goOn: async (sandbox, at, when) => {
          await sandbox.restoreCheckpoint("c1");
          expectEqual(await sandbox.read(FILE), `saved ${at}\n`, `${when}: the file after restoring again`);
        },
      });
    },
  },
  {
    name: "finishes a cleanup that was killed",
    group: "crash",
    needs: ["process"],
    run: async (bench) => {
      const before = await bench.original();
      await cutOff(bench, {
        arrange: async (sandbox) => ({ method: "cleanup", args: [sandbox.ref] }),
        goOn: async (sandbox, _at, when) => {
          await sandbox.cleanup();
          await bench.expectOriginal(before, `${when}: the original should be as before`);
        },
      });
    },
  },
];
