import { TreeHand } from "./tree-hand.ts";

/** A tree with a folder that is going to be moved, and names inside and outside of it that share a file. */
export function buildMovedTree(root: string): void {
  const hand = new TreeHand(root, "before");
  hand.folder("from/deep");
  for (const name of ["edit", "gone", "same"]) hand.file(`from/${name}`, `${name}\n`);
  for (const name of ["edit", "gone", "same"]) hand.file(`from/deep/${name}`, `deep ${name}\n`);
  hand.file("from/linked", "linked\n");
  hand.hardLink("from/deep/linked", "from/linked");
  hand.hardLink("stays", "from/linked");
  hand.file("same", "same\n");
  hand.folder("kept");
  hand.folder("whole/deep");
  hand.file("whole/deep/same", "of the whole\n");
  hand.finish();
}

/** Moves folders of a tree that buildMovedTree made, and changes what is in them. */
export function changeMovedTree(root: string): void {
  const hand = new TreeHand(root, "after");
  hand.rename("from", "to");
  hand.file("to/edit", "edited, longer\n");
  hand.remove("to/gone");
  hand.folder("new");
  hand.rename("to/deep", "new/deep");
  hand.file("new/deep/edit", "edited in the deep\n");
  hand.remove("new/deep/gone");
  hand.rename("whole", "kept/whole");
  hand.mode("kept/whole", 0o700);
  hand.file("kept/new", "new\n");
  hand.finish();
}
