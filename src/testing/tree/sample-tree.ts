import type { WorkTree } from "./work-tree.ts";

/** The content of every sample, whether it is a folder or not. */
export const SAMPLE_CONTENT: { readonly [path: string]: string | Uint8Array } = {
  "readme.txt": "one\ntwo\nthree\n",
  "image.bin": Buffer.from([0x89, 0x50, 0x00, 0xff, 0x0a, 0x1a]),
  "same-size": "aaaa",
  "tool.sh": "#!/bin/sh\n",
  "src/app.ts": "export const app = 1;\n",
  "src/deep/leaf.txt": "leaf\n",
  "src/old.ts": "old\n",
  "gone/inside/file": "gone\n",
};

/** Fills an empty folder with entries of every kind, some of them awkward. */
export function fillSampleTree(tree: WorkTree): void {
  for (const path of ["src", "src/deep", "hollow", "gone", "gone/inside"]) tree.makeFolder(path);
  for (const [path, content] of Object.entries(SAMPLE_CONTENT)) tree.write(path, content);
  tree.write("empty", "");
  tree.setMode("tool.sh", 0o755);
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
