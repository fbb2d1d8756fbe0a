import type { Change } from "../../core/change.ts";
import type { ConformanceCase } from "../conformance-case.ts";
import { expect, expectEqual } from "../expectation.ts";
import type { SandboxBench } from "../sandbox-bench.ts";

async function changeOf(sandbox: SandboxBench, path: string): Promise<Change> {
  const { changes } = await sandbox.diff();
  const change = changes.find((candidate) => candidate.path === path);
  expect(
    change !== undefined,
    `the diff has no ${path}, only ${changes.map((other) => other.path).join(", ")}`,
  );
  return change;
}

/** The changes, without the modifications of these folders themselves. */
async function changesBut(sandbox: SandboxBench, ...folders: readonly string[]): Promise<string[]> {
  return (await sandbox.changes()).filter(
    (line) => !folders.some((folder) => line === `modified directory ${folder}`),
  );
}

/** The diff finds everything that differs, and nothing else. */
export const diffCases: readonly ConformanceCase[] = [
  {
    name: "finds nothing in an untouched sandbox",
    group: "diff",
    needs: [],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      expectEqual(await sandbox.changes(), [], "the diff of a new sandbox");
    },
  },
  {
    name: "finds added, modified and deleted entries of every kind at any depth",
    group: "diff",
    needs: ["path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => {
        tree.write("src/deep/leaf.txt", "other\n");
        tree.makeFolder("src/deep/new");
        tree.makeFolder("src/deep/new/empty");
        tree.write("src/deep/new/file", "x");
        tree.makeLink("src/deep/new/link", "file");
        tree.remove("gone");
        tree.remove("hollow");
        tree.remove("broken");
        tree.remove("src/old.ts");
      });
      const isKept = (line: string) => !bench.losses.includes("folders") || !line.includes(" directory ");
      expectEqual(
        await changesBut(sandbox, ".", "src", "src/deep"),
        [
          "added directory src/deep/new",
          "added directory src/deep/new/empty",
          "added file src/deep/new/file",
          "added symlink src/deep/new/link",
          "deleted directory gone",
          "deleted directory gone/inside",
          "deleted directory hollow",
          "deleted file gone/inside/file",
          "deleted file src/old.ts",
          "deleted symlink broken",
          "modified file src/deep/leaf.txt",
        ].filter(isKept),
        "the diff",
      );
    },
  },
  {
    name: "finds other content of the same size and the same modification time",
    group: "diff",
    needs: ["path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => {
        const before = tree.facts("same-size");
        const root = tree.facts(".");
        expect(before !== undefined && root !== undefined, "the sandbox lacks a file of the original");
        tree.write("same-size", "bbbb");
        tree.setTime("same-size", before.mtime);
        tree.setTime(".", root.mtime);
      });
      expectEqual(await sandbox.changes(), ["modified file same-size"], "the diff");
    },
  },
  {
    name: "finds a link that leads elsewhere, also where both lead to the same content or nowhere",
    group: "diff",
    needs: ["path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => {
        tree.remove("link");
        tree.makeLink("link", "./readme.txt");
        tree.remove("broken");
        tree.makeLink("broken", "nowhere/else");
      });
      expectEqual(
        await changesBut(sandbox, "."),
        ["modified symlink broken", "modified symlink link"],
        "the diff",
      );
      expectEqual(
        (await changeOf(sandbox, "link")).after?.target,
        "./readme.txt",
        "the target after the change",
      );
    },
  },
  {
    name: "finds files that became links, and links that became files",
    group: "diff",
    needs: ["path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => {
        tree.replace("link", "one\ntwo\nthree\n");
        tree.remove("same-size");
        tree.makeLink("same-size", "empty");
      });
      expectEqual(
        await changesBut(sandbox, "."),
        ["typechanged file link", "typechanged symlink same-size"],
        "the diff",
      );
    },
  },
  {
    name: "finds entries that became another kind",
    group: "diff",
    needs: ["path", "folders"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => {
        tree.remove("readme.txt");
        tree.makeFolder("readme.txt");
        tree.remove("hollow");
        tree.makeLink("hollow", "src");
        tree.replace("link", "one\ntwo\nthree\n");
      });
      expectEqual(
        await changesBut(sandbox, "."),
        ["typechanged directory readme.txt", "typechanged file link", "typechanged symlink hollow"],
        "the diff",
      );
    },
  },
  {
    name: "finds files that can be run now, and such that can't any more",
    group: "diff",
    needs: ["path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => {
        tree.setMode("tool.sh", 0o644);
        tree.setMode("readme.txt", 0o755);
      });
      expectEqual(await sandbox.changes(), ["modified file readme.txt", "modified file tool.sh"], "the diff");
      expectEqual((await changeOf(sandbox, "tool.sh")).before?.mode, 0o755, "the mode before");
      expectEqual((await changeOf(sandbox, "tool.sh")).after?.mode, 0o644, "the mode after");
    },
  },
  {
    name: "finds changes of nothing but mode or attributes",
    group: "diff",
    needs: ["path", "folders", "modes", "attributes"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => {
        tree.setMode("tool.sh", 0o700);
        tree.setMode("hollow", 0o711);
        tree.setXattr("empty", "user.mark", "set");
      });
      expectEqual(
        await sandbox.changes(),
        ["modified directory hollow", "modified file empty", "modified file tool.sh"],
        "the diff",
      );
      expectEqual((await changeOf(sandbox, "tool.sh")).before?.mode, 0o755, "the mode before");
      expectEqual((await changeOf(sandbox, "tool.sh")).after?.mode, 0o700, "the mode after");
    },
  },
  {
    name: "does not hang on a fifo, and finds one that was made or removed",
    group: "diff",
    needs: ["path", "other-kinds"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => {
        tree.remove("pipe");
        tree.makeFifo("src/pipe");
      });
      expectEqual(
        await changesBut(sandbox, ".", "src"),
        ["added fifo src/pipe", "deleted fifo pipe"],
        "the diff",
      );
    },
  },
  {
    name: "finds names of any bytes",
    group: "diff",
    needs: ["path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => {
        tree.write("new\nline \udcff\udcfe", "even odder\n");
        tree.write("\udc80", "lone\n");
      });
      expectEqual(
        await changesBut(sandbox, "."),
        ["added file \udc80", "modified file new\nline \udcff\udcfe"],
        "the diff",
      );
    },
  },
  {
    name: "tells text from binary",
    group: "diff",
    needs: ["path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await bench.fresh().write(sandbox.ref, "image.bin", Buffer.from([0, 1, 2, 255]));
      await sandbox.write("readme.txt", "one\n2\nthree\n");
      expectEqual((await changeOf(sandbox, "image.bin")).binary, true, "binary of a file with NUL bytes");
      expect((await changeOf(sandbox, "readme.txt")).binary !== true, "a text file is called binary");
    },
  },
  {
    name: "changes nothing by looking",
    group: "diff",
    needs: ["path"],
    run: async (bench) => {
      const sandbox = await bench.sandbox();
      await sandbox.workAlone((tree) => tree.write("readme.txt", "work\n"));
      const before = await sandbox.snapshot();
      const views = [await sandbox.diff(), await sandbox.diff()];
      expectEqual(views[1], views[0], "the second diff");
      await sandbox.expectIs(before, "the sandbox after two diffs should be as before");
    },
  },
];
