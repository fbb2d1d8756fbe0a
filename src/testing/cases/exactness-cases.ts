import type { Loss } from "../../core/capabilities.ts";
import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual } from "../expectation.ts";
import type { Steps } from "../tree/work-tree.ts";

/** Only root may give files away; other users give them to themselves. */
const OWNER = process.geteuid?.() === 0 ? 12_345 : (process.geteuid?.() ?? 0);

/** Only root can read the content of a file without read permission, and the suite has to. */
const CLOSED = process.geteuid?.() === 0 ? 0o000 : 0o400;

const LANDINGS: { readonly [name: string]: Steps } = {
  "contents, new, changed, appended, cut and emptied": (tree) => {
    tree.write("readme.txt", "work\n");
    tree.replace("src/app.ts", "replaced\n");
    tree.append("src/deep/leaf.txt", "more\n");
    tree.truncate("same-size", 2);
    tree.write("tool.sh", "");
    tree.write("new.txt", "new\n");
  },
  "empty folders, made, removed and closed to others": (tree) => {
    tree.makeFolder("made");
    tree.makeFolder("made/inside", 0o711);
    tree.makeFolder("made/empty");
    tree.remove("hollow");
  },
  "folders, made, removed, moved and replaced": (tree) => {
    tree.makeFolder("made");
    tree.makeFolder("made/inside");
    tree.write("made/inside/file", "x\n");
    tree.remove("gone");
    tree.rename("src", "lib");
    tree.remove("names");
    tree.makeFolder("names");
    tree.write("names/only", "other\n");
  },
  "links, broken ones too": (tree) => {
    tree.makeLink("src/up", "../readme.txt");
    tree.makeLink("lost", "no/such/place");
    tree.remove("link");
    tree.makeLink("link", "tool.sh");
    tree.remove("broken");
    tree.setTime("lost", [1_300_000_000, 7]);
  },
  "entries that became another kind": (tree) => {
    tree.remove("readme.txt");
    tree.makeFolder("readme.txt");
    tree.write("readme.txt/inside", "x\n");
    tree.replace("gone", "a file now\n");
    tree.remove("link");
    tree.makeFolder("link");
    tree.write("link/inside", "x\n");
    tree.replace("broken", "a file now\n");
  },
  "empty folders that became another kind": (tree) => {
    tree.remove("hollow");
    tree.makeLink("hollow", "src");
    tree.remove("link");
    tree.makeFolder("link");
  },
  "fifos that became another kind": (tree) => {
    tree.remove("pipe");
    tree.makeLink("pipe", "empty");
  },
  "files that can be run, and such that can't any more": (tree) => {
    tree.setMode("readme.txt", 0o755);
    tree.setMode("tool.sh", 0o644);
    tree.write("new.sh", "#!/bin/sh\n");
    tree.setMode("new.sh", 0o755);
  },
  "modes, read-only ones too": (tree) => {
    tree.setMode("tool.sh", 0o500);
    tree.setMode("empty", CLOSED);
    tree.write("new", "x");
    tree.setMode("new", 0o440);
    tree.makeFolder("closed");
    tree.write("closed/file", "x");
    tree.setMode("closed", 0o555);
    tree.setMode("src", 0o700);
    tree.setMode(".", 0o750);
  },
  "changes inside read-only folders": (tree) => {
    tree.setMode("locked", 0o755);
    tree.replace("locked/file", "changed\n");
    tree.write("locked/more", "more\n");
    tree.setMode("locked/file", 0o444);
    tree.setMode("locked", 0o555);
  },
  "times of files, links and folders, the root's too": (tree) => {
    tree.write("src/app.ts", "work\n");
    tree.setTime("src/app.ts", [1_000_000_000, 1]);
    tree.setTime("readme.txt", [1_100_000_000, 999_999_999]);
    tree.setTime("link", [1_200_000_000, 2]);
    tree.setTime("hollow", [1_300_000_000, 3]);
    tree.setTime("src", [-86_400, 5]);
    tree.setTime(".", [1_234_567_890, 123_456_789]);
  },
  owners: (tree) => {
    for (const path of ["readme.txt", "hollow", "link", "src"]) tree.setOwner(path, OWNER, OWNER);
    tree.write("theirs", "x\n");
    tree.setOwner("theirs", OWNER, OWNER);
  },
  "extended attributes": (tree) => {
    tree.setXattr("readme.txt", "user.mark", "set");
    tree.setXattr("src", "user.folder", "set");
    tree.write("marked", "x\n");
    tree.setXattr("marked", "user.one", "1");
    tree.setXattr("marked", "user.two", "2");
    tree.setXattr("marked", "user.one");
  },
  "hard links, made, broken and moved": (tree) => {
    tree.write("pair-1", "pair\n");
    tree.makeHardLink("pair-2", "pair-1");
    tree.makeHardLink("tool-too.sh", "tool.sh");
    tree.replace("names/second", "on its own\n");
  },
  "one more name of a file with several": (tree) => {
    tree.makeHardLink("third", "names/first");
  },
  "a folder that moves, with one name of a file that stays": (tree) => {
    tree.rename("pair", "moved");
  },
  "one of several names of a file that moves": (tree) => {
    tree.rename("apart", "apart-no-more");
  },
  "a change of a file with several names": (tree) => {
    tree.write("names/first", "changed through one name\n");
  },
  holes: (tree) => {
    tree.writeAt("sparse", 12_582_912, "further out");
    tree.write("hollowed", "x");
    tree.truncate("hollowed", 4_194_304);
  },
  "fifos, made and removed": (tree) => {
    tree.makeFifo("src/pipe");
    tree.remove("pipe");
  },
  "names of any bytes": (tree) => {
    tree.write("new\nline \udcff\udcfe", "changed\n");
    tree.makeFolder("\udc80\n");
    tree.write("\udc80\n/tab\t\\", "x\n");
  },
};

/** The losses that a strategy must not declare for a landing to be exact. */
const KEEPS: { readonly [what: string]: readonly Loss[] } = {
  "a folder that moves, with one name of a file that stays": ["folder-renames", "linked-files"],
  "one more name of a file with several": ["linked-files"],
  "one of several names of a file that moves": ["linked-files"],
  "a change of a file with several names": ["linked-files"],
  holes: ["holes"],
  "empty folders, made, removed and closed to others": ["folders"],
  "empty folders that became another kind": ["folders"],
  "fifos that became another kind": ["other-kinds"],
  "fifos, made and removed": ["other-kinds"],
  "modes, read-only ones too": ["modes"],
  "times of files, links and folders, the root's too": ["times"],
  owners: ["owners"],
  "extended attributes": ["attributes"],
  "changes inside read-only folders": ["read-only-folders"],
};

/** What lands equals the sandbox exactly: the same steps in a plain folder end with the same folder. */
export const exactnessCases: readonly ConformanceCase[] = Object.entries(LANDINGS).map(([what, steps]) => ({
  name: `lands exactly: ${what}`,
  group: "exactness",
  needs: ["isolation", "path", ...(KEEPS[what] ?? [])],
  run: async (bench) => {
    const sandbox = await bench.sandbox();
    await sandbox.work(steps);
    const { attention } = await sandbox.commit();
    expectEqual(attention, [], "what the commit wants a person to look at");
    await bench.expectOriginalIsOracle("the original should be as the plain folder");
    await sandbox.expectIs(await bench.original(), "the sandbox after the commit should be as the original");
  },
}));
