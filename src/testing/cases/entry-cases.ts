import type { SandboxStrategy } from "../../core/strategy.ts";
import type { Browsable } from "../../core/strategy-abilities.ts";
import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectRefusal } from "../expectation.ts";

/** What holds for a strategy that can work on single entries. */
export const entryCases: readonly ConformanceCase[] = [
  {
    name: "shows, lists, makes, renames and removes single entries, and leaves the original alone",
    group: "exactness",
    needs: ["isolation", "entries"],
    run: async (bench) => {
      const before = await bench.original();
      const sandbox = await bench.sandbox();
      const { ref } = sandbox;
      const entries = bench.strategy as SandboxStrategy & Browsable;
      const names = async (path: string, after?: string, limit = 100) => {
        const page = { limit, ...(after !== undefined && { after }) };
        return (await entries.list(ref, path, page)).map((entry) => entry.path);
      };
      const part = async (offset: number, length: number) =>
        Buffer.from(await entries.readPart(ref, "made/here.txt", offset, length)).toString();
      await sandbox.write("made/here.txt", "0123456789");
      const shown = await entries.stat(ref, "made/here.txt");
      expectEqual([shown?.path, shown?.kind, shown?.size], ["made/here.txt", "file", 10], "an entry");
      expectEqual((await entries.stat(ref, "made"))?.kind, "directory", "a folder");
      expectEqual(await entries.stat(ref, "made/nothing"), undefined, "an entry that is not there");
      expectEqual([await part(2, 3), await part(8, 5)], ["234", "89"], "parts of a file");
      await entries.makeFolder(ref, "made/deep/er");
      await entries.makeFolder(ref, "made/deep/er");
      expectEqual(await names("made"), ["made/deep", "made/here.txt"], "a folder that is listed");
      expectEqual(await names("made", undefined, 1), ["made/deep"], "the first page of a folder");
      expectEqual(await names("made", "deep"), ["made/here.txt"], "the page behind a name");
      await entries.rename(ref, "made/here.txt", "made/moved/there.txt");
      expectEqual(await entries.stat(ref, "made/here.txt"), undefined, "an entry that was renamed");
      expectEqual(await sandbox.read("made/moved/there.txt"), "0123456789", "its content at the new path");
      await sandbox.write("made/other.txt", "other");
      await expectRefusal(
        () => entries.rename(ref, "made/other.txt", "made/moved/there.txt"),
        "a rename to a path that is taken",
      );
      await entries.remove(ref, "made/deep");
      expectEqual(await names("made"), ["made/moved", "made/other.txt"], "a folder after a removal");
      await expectRefusal(() => entries.remove(ref, "made/deep"), "a removal of what is not there");
      await expectRefusal(() => names("made/deep"), "a list of a folder that is not there");
      await bench.expectOriginal(before, "the original should be as before");
    },
  },
];
