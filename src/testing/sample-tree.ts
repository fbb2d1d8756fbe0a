import type { WorkTree } from "./work-tree.ts";

/** Fills an empty folder with every kind of entry, some of them awkward. */
export function fillSampleTree(tree: WorkTree): void {
  tree.write("readme.txt", "one\ntwo\nthree\n");
  tree.write("image.bin", Buffer.from([0x89, 0x50, 0x00, 0xff, 0x0a, 0x1a]));
  tree.write("same-size", "aaaa");
  tree.write("empty", "");
  tree.write("tool.sh", "#!/bin/sh\n");
  tree.setMode("tool.sh", 0o755);
  tree.makeFolder("src");
  tree.makeFolder("src/deep");
  tree.write("src/app.ts", "export const app = 1;\n");
  tree.write("src/deep/leaf.txt", "leaf\n");
  tree.write("src/old.ts", "old\n");
  tree.makeFolder("hollow");
  tree.makeFolder("gone");
  tree.makeFolder("gone/inside");
  tree.write("gone/inside/file", "gone\n");
  tree.makeLink("link", "readme.txt");
  tree.makeLink("broken", "nowhere/at/all");
  tree.makeFolder("names");
  tree.write("names/first", "shared\n");
  tree.makeHardLink("names/second", "names/first");
  tree.write("sparse", "start");
  tree.writeAt("sparse", 4_194_304, "end");
  tree.write("apart", "one name here, one in a folder\n");
  tree.makeFolder("pair");
  tree.makeHardLink("pair/other", "apart");
  tree.makeFifo("pipe");
  tree.write("new\nline \udcff\udcfe", "odd\n");
  tree.makeFolder("locked");
  tree.write("locked/file", "locked\n");
  tree.setMode("locked/file", 0o444);
  tree.setMode("locked", 0o555);
  tree.setMode(".", 0o755);
  tree.setTime(".", [1_400_000_000, 123_456_789]);
}
