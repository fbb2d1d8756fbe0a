import { TreeHand } from "./tree-hand.ts";

/**
 * A tree with one entry for each thing that a landing can do to an entry, where the rich one would only cost
 * time.
 */
export function buildSmallTree(root: string): void {
  const hand = new TreeHand(root, "before");
  for (const name of ["edit", "gone", "mode", "same"]) hand.file(name, `${name}\n`);
  hand.folder("folder/deep");
  hand.file("folder/deep/edit", "deep\n");
  hand.folder("folder/gone");
  hand.file("folder/gone/file", "file\n");
  hand.finish();
}

/** Changes a tree that buildSmallTree made. */
export function changeSmallTree(root: string): void {
  const hand = new TreeHand(root, "after");
  hand.file("edit", "edited, longer\n");
  hand.remove("gone");
  hand.mode("mode", 0o600);
  hand.file("folder/deep/edit", "edited in the deep\n");
  hand.remove("folder/gone");
  hand.folder("folder/new");
  hand.file("folder/new/file", "new\n");
  hand.finish();
}
