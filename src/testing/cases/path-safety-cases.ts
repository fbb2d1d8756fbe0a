import { join } from "node:path";
import type { ConformanceCase } from "../conformance-case.ts";
import { expectNone, expectRefusal } from "../expectation.ts";
import { compareSnapshots, snapshotTree } from "../tree/tree-snapshot.ts";

const PATHS_THAT_LEAD_OUT = [
  "../outside/secret",
  "src/../../secret",
  "..",
  "/etc/hostname",
  "src/../../../etc/hostname",
];

/** Nothing gets out of the sandbox or the original. */
export const pathSafetyCases: readonly ConformanceCase[] = [
  {
    name: "refuses to read or write by a path that leads out",
    group: "path safety",
    needs: [],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      for (const path of PATHS_THAT_LEAD_OUT) {
        await expectRefusal(() => sandbox.read(path), `reading ${path}`);
        await expectRefusal(() => sandbox.write(path, "out\n"), `writing ${path}`);
      }
    },
  },
  {
    name: "refuses to read or write through a link that leads out",
    group: "path safety",
    needs: ["path"],
    run: async (bench) => {
      bench.inFolders([bench.outsidePath], (tree) => tree.write("secret", "secret\n"));
      const before = snapshotTree(bench.outsidePath);
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => {
        tree.makeLink("door", bench.outsidePath);
        tree.makeLink("window", join(bench.outsidePath, "secret"));
      });
      for (const path of ["door/secret", "window"]) {
        await expectRefusal(() => sandbox.read(path), `reading ${path}, which leads out,`);
        await expectRefusal(() => sandbox.write(path, "out\n"), `writing ${path}, which leads out,`);
      }
      await expectRefusal(
        () => sandbox.write("door/new/file", "out\n"),
        "making folders through a link that leads out",
      );
      expectNone(compareSnapshots(snapshotTree(bench.outsidePath), before), "outside should be as before");
    },
  },
  {
    name: "lands a link that leads out as a link",
    group: "path safety",
    needs: ["path"],
    run: async (bench) => {
      bench.inFolders([bench.outsidePath], (tree) => tree.write("secret", "secret\n"));
      const before = snapshotTree(bench.outsidePath);
      const sandbox = await bench.sandbox();
      await sandbox.work((tree) => {
        tree.remove("gone");
        tree.makeLink("gone", bench.outsidePath);
      });
      await sandbox.commit();
      await bench.expectOriginalIsOracle("the original should be as the plain folder");
      expectNone(compareSnapshots(snapshotTree(bench.outsidePath), before), "outside should be as before");
    },
  },
  {
    name: "does not land through a link that another writer planted in the original",
    group: "path safety",
    needs: ["isolation", "path"],
    run: async (bench) => {
      bench.inFolders([bench.outsidePath], (tree) => tree.write("app.ts", "outside\n"));
      const before = snapshotTree(bench.outsidePath);
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => {
        tree.write("src/app.ts", "work\n");
        tree.write("src/added.ts", "work\n");
        tree.remove("src/old.ts");
      });
      await bench.rival((tree) => {
        tree.rename("src", "src-moved");
        tree.makeLink("src", bench.outsidePath);
      });
      await expectRefusal(() => sandbox.commit(), "a commit below a folder that is now a link");
      expectNone(compareSnapshots(snapshotTree(bench.outsidePath), before), "outside should be as before");
    },
  },
];
