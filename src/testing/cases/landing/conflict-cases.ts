import type { ConformanceCase } from "../../conformance-case.ts";
import { expectEqual, expectRefusal } from "../../expectation.ts";
import type { SandboxBench } from "../../sandbox-bench.ts";

/** The paths that a refused commit names. */
async function conflictsOf(sandbox: SandboxBench): Promise<string[]> {
  const error = await expectRefusal(
    () => sandbox.commit(),
    "a commit over another writer's changes",
    "SandboxConflictError",
  );
  const { conflicts } = error as Error & { readonly conflicts: readonly { readonly path: string }[] };
  return conflicts.map(({ path }) => path).sort();
}

/** Another writer changed the original meanwhile. */
export const conflictCases: readonly ConformanceCase[] = [
  {
    name: "refuses to land over another writer's changes, names every path, and changes nothing",
    group: "conflicts",
    needs: ["isolation", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => {
        tree.write("readme.txt", "mine\n");
        tree.remove("src/old.ts");
        tree.write("both-added", "mine\n");
        tree.write("same-size", "cccc");
      });
      await bench.rival((tree) => {
        tree.write("readme.txt", "theirs\n");
        tree.write("src/old.ts", "theirs\n");
        tree.write("both-added", "theirs\n");
      });
      const theirs = await bench.original();
      const work = await sandbox.snapshot();
      expectEqual(
        await conflictsOf(sandbox),
        ["both-added", "readme.txt", "src/old.ts"],
        "the paths that are named",
      );
      await bench.expectOriginal(theirs, "the original should be as they left it");
      await sandbox.expectIs(work, "the work should still be there");
    },
  },
  {
    name: "refuses to delete a folder in which another writer changed something",
    group: "conflicts",
    needs: ["isolation", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => tree.remove("gone"));
      await bench.rival((tree) => tree.write("gone/inside/file", "theirs\n"));
      const theirs = await bench.original();
      await expectRefusal(() => sandbox.commit(), "deleting another writer's change", "SandboxConflictError");
      await bench.expectOriginal(theirs, "the original should be as they left it");
    },
  },
  {
    name: "refuses to land over a file that another writer replaced or removed",
    group: "conflicts",
    needs: ["isolation", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => {
        tree.write("readme.txt", "mine\n");
        tree.write("src/app.ts", "mine\n");
      });
      await bench.rival((tree) => {
        tree.replace("readme.txt", "one\ntwo\nthree!\n");
        tree.remove("src/app.ts");
      });
      expectEqual(await conflictsOf(sandbox), ["readme.txt", "src/app.ts"], "the paths that are named");
    },
  },
  {
    name: "keeps what another writer changed elsewhere in the original",
    group: "conflicts",
    needs: ["isolation", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => tree.write("src/app.ts", "mine\n"));
      await bench.rival((tree) => {
        tree.write("readme.txt", "theirs\n");
        tree.write("src/theirs.ts", "theirs\n");
      });
      await sandbox.commit();
      const after = await bench.sandbox("another");
      expectEqual(await after.read("src/app.ts"), "mine\n", "what landed");
      expectEqual(await after.read("readme.txt"), "theirs\n", "what they changed");
      expectEqual(await after.read("src/theirs.ts"), "theirs\n", "what they added");
    },
  },
  {
    name: "lands what the plan and another writer both made the same",
    group: "conflicts",
    needs: ["isolation", "path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => {
        tree.write("both-added", "the same\n");
        tree.remove("src/old.ts");
      });
      await bench.rival((tree) => {
        tree.write("both-added", "the same\n");
        tree.remove("src/old.ts");
      });
      await sandbox.commit();
      const after = await bench.sandbox("another");
      expectEqual(await after.read("both-added"), "the same\n", "what both added");
    },
  },
];
