import type { Bench } from "../../bench.ts";
import type { ConformanceCase } from "../../conformance-case.ts";
import { expectEqual, expectRefusal } from "../../expectation.ts";
import { OTHER_PLAN_ID } from "../../plan-ids.ts";
import { cutOff } from "../../process/cut-off.ts";
import type { SandboxBench } from "../../sandbox-bench.ts";
import { workOfEveryKind } from "../../tree/mixed-work.ts";

const PART = "readme.txt";
const REST = "src/app.ts";
const OLD = { part: "one\ntwo\nthree\n", rest: "export const app = 1;\n" };
const BOTH = [`modified file ${PART}`, `modified file ${REST}`];

async function writeBoth(sandbox: SandboxBench, mark = ""): Promise<void> {
  await sandbox.write(PART, `part${mark}\n`);
  await sandbox.write(REST, `rest${mark}\n`);
}

/** Fails unless the original has this content in the two files. */
async function expectLanded(
  bench: Bench,
  expected: { readonly part: string; readonly rest: string },
  when: string,
) {
  const other = await bench.sandbox(OTHER_PLAN_ID);
  const found = { part: await other.read(PART), rest: await other.read(REST) };
  await other.cleanup();
  expectEqual(found, expected, `what is in the original ${when}`);
}

/** Fails unless the sandbox shows both pieces of work, and these changes are still to land. */
async function expectWork(
  sandbox: SandboxBench,
  changes: readonly string[],
  when: string,
  mark = "",
): Promise<void> {
  expectEqual(await sandbox.changes(), [...changes], `the diff ${when}`);
  const shown = [await sandbox.read(PART), await sandbox.read(REST)];
  expectEqual(shown, [`part${mark}\n`, `rest${mark}\n`], `what the sandbox shows ${when}`);
}

/** A part of the work lands alone, and the rest stays. */
export const partCases: readonly ConformanceCase[] = [
  {
    name: "lands one of two files by itself; the other stays work, and lands later",
    group: "parts",
    needs: ["partial"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await writeBoth(sandbox);
      const transaction = sandbox.part("t1", [PART]);
      const prepared = await sandbox.prepareChanges(transaction);
      expectEqual(prepared.changes, 1, "how many changes it says will land");
      await expectLanded(bench, OLD, "after prepare");
      for (const when of ["when the part has landed", "when it was told to land again"]) {
        await sandbox.commitPrepared(transaction, prepared);
        await expectLanded(bench, { ...OLD, part: "part\n" }, when);
        await expectWork(sandbox, BOTH.slice(1), when);
      }
      await sandbox.land(sandbox.transaction("t2"));
      await expectLanded(bench, { part: "part\n", rest: "rest\n" }, "when the rest has landed");
    },
  },
  {
    name: "takes a part back that landed, exactly: it is work of the sandbox again",
    group: "parts",
    needs: ["partial"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await writeBoth(sandbox);
      const undo = await sandbox.land(sandbox.part("t1", [PART]));
      const prepared = await sandbox.prepareChanges(undo);
      for (const when of ["after the undo of the part", "after a repeated undo"]) {
        await sandbox.commitPrepared(undo, prepared);
        await bench.expectOriginal(before, `the original ${when} should be as before`);
        await expectWork(sandbox, BOTH, when);
      }
      await sandbox.land(sandbox.transaction("t2"));
      await expectLanded(bench, { part: "part\n", rest: "rest\n" }, "when all of it has landed");
    },
  },
  {
    name: "takes parts back one by one, the last one first",
    group: "parts",
    needs: ["partial"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await writeBoth(sandbox);
      const undoes = [
        await sandbox.land(sandbox.part("t1", [PART])),
        await sandbox.land(sandbox.part("t2", ["src/*.ts"])),
      ];
      await expectWork(sandbox, [], "when both parts have landed");
      for (const undo of undoes.toReversed())
        await sandbox.commitPrepared(undo, await sandbox.prepareChanges(undo));
      await bench.expectOriginal(before, "the original after both undos should be as before");
      await expectWork(sandbox, BOTH, "after both undos");
    },
  },
  {
    name: "gives back a part that was prepared, and prepares nothing where nothing is meant",
    group: "parts",
    needs: ["partial"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await writeBoth(sandbox);
      const transaction = sandbox.part("t1", [PART]);
      await sandbox.prepareChanges(transaction);
      await sandbox.rollbackPrepared(transaction);
      expectEqual(
        await sandbox.prepare(sandbox.part("t2", ["image.bin"])),
        null,
        "prepare of unchanged paths",
      );
      await sandbox.rollbackPrepared(sandbox.part("t2", ["image.bin"]));
      await bench.expectOriginal(before, "the original should be as before");
      await expectWork(sandbox, BOTH, "after the prepare was taken back");
    },
  },
  {
    name: "leaves a part landed when the rest is rolled back",
    group: "parts",
    needs: ["partial"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await writeBoth(sandbox);
      const undo = await sandbox.land(sandbox.part("t1", [PART]));
      await sandbox.rollback();
      await expectLanded(bench, { ...OLD, part: "part\n" }, "after the rollback");
      expectEqual(await sandbox.changes(), [], "the diff after the rollback");
      await sandbox.commitPrepared(undo, await sandbox.prepareChanges(undo));
      await bench.expectOriginal(before, "the original after the undo of the part should be as before");
      expectEqual(await sandbox.changes(), BOTH.slice(0, 1), "the diff after the undo of the part");
      expectEqual(await sandbox.read(PART), "part\n", "what the sandbox shows after the undo of the part");
    },
  },
  {
    name: "lands the rest beside what another writer made of a part since, and does not take that back",
    group: "parts",
    needs: ["partial"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await writeBoth(sandbox);
      const undo = await sandbox.land(sandbox.part("t1", [PART]));
      await bench.otherWriterWrites(PART, "the other writer's\n");
      await expectRefusal(
        () => sandbox.prepare(undo),
        "an undo over another writer's change",
        "SandboxConflictError",
      );
      await sandbox.land(sandbox.part("t2", [REST]));
      await expectLanded(bench, { part: "the other writer's\n", rest: "rest\n" }, "when the rest has landed");
    },
  },
  {
    name: "lands work of every kind in parts as it does at once, and takes it back exactly",
    group: "parts",
    needs: ["partial", "path"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      await sandbox.work(workOfEveryKind(bench));
      const worked = await sandbox.snapshot();
      const undoes = [await sandbox.land(sandbox.part("t1", ["link", "names", "gone", "tool.*"]))];
      await sandbox.expectIs(worked, "the sandbox should show what it showed, when a part has landed");
      undoes.push(await sandbox.land(sandbox.transaction("t2")));
      await bench.expectOriginalIsOracle("the original should be as if all had landed at once");
      for (const undo of undoes.toReversed())
        await sandbox.commitPrepared(undo, await sandbox.prepareChanges(undo));
      await bench.expectOriginal(before, "the original after both undos should be as before");
    },
  },
  {
    name: "finishes landing a part that was killed, in another process; the rest stays work",
    group: "crash",
    needs: ["process", "partial"],
    run: async (bench) => {
      const prepared = new Map<number, Awaited<ReturnType<SandboxBench["prepareChanges"]>>>();
      let rest = OLD.rest;
      await cutOff(bench, {
        arrange: async (sandbox, at) => {
          await writeBoth(sandbox, ` ${at}`);
          const transaction = sandbox.part("killed", [PART]);
          const made = await sandbox.prepareChanges(transaction);
          prepared.set(at, made);
          return { method: "commitPrepared", args: [sandbox.ref, transaction, made] };
        },
        goOn: async (sandbox, at, when) => {
          const made = prepared.get(at);
          if (made !== undefined) await sandbox.commitPrepared(sandbox.part("killed", [PART]), made);
          await expectLanded(bench, { part: `part ${at}\n`, rest }, when);
          await expectWork(sandbox, BOTH.slice(1), when, ` ${at}`);
          rest = `rest ${at}\n`;
          await sandbox.commit();
          await expectLanded(bench, { part: `part ${at}\n`, rest }, `${when}, and the rest landed`);
        },
      });
    },
  },
  {
    name: "finishes the undo of a part that was killed, in another process; all of it is work again",
    group: "crash",
    needs: ["process", "partial"],
    run: async (bench) => {
      const before = await bench.original();
      const undoes = new Map<number, Parameters<SandboxBench["commitPrepared"]>>();
      await cutOff(bench, {
        arrange: async (sandbox, at) => {
          await writeBoth(sandbox);
          const undo = await sandbox.land(sandbox.part("killed", [PART]));
          const made = await sandbox.prepareChanges(undo);
          undoes.set(at, [undo, made]);
          return { method: "commitPrepared", args: [sandbox.ref, undo, made] };
        },
        goOn: async (sandbox, at, when) => {
          const undo = undoes.get(at);
          if (undo !== undefined) await sandbox.commitPrepared(...undo);
          await bench.expectOriginal(before, `${when}: the original should be as before`);
          await expectWork(sandbox, BOTH, when);
        },
      });
    },
  },
];
