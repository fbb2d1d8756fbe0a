import type { Loss } from "../../core/capabilities.ts";
import type { Steps, WorkTree } from "./work-tree.ts";

/**
 * Work of every kind in the sample tree, for cases that are about something else. Kinds that the strategy
 * declares to lose are not in it.
 */
export function workOfEveryKind({ losses }: { readonly losses: readonly Loss[] }): Steps {
  return (tree) => {
    everyKind(tree);
    if (!losses.includes("folders")) tree.setTime("hollow", [1_350_000_000, 17]);
    if (!losses.includes("read-only-folders")) tree.setMode("locked", 0o700);
  };
}

function everyKind(tree: WorkTree): void {
  tree.write("readme.txt", "work\n");
  tree.append("src/app.ts", "// more\n");
  tree.replace("names/first", "no longer shared\n");
  tree.remove("gone");
  tree.rename("src/old.ts", "src/new.ts");
  tree.remove("link");
  tree.makeFolder("link");
  tree.write("link/inside", "was a link\n");
  tree.makeFolder("fresh");
  tree.write("fresh/file", "fresh\n");
  tree.makeLink("fresh/link", "file");
  tree.makeHardLink("fresh/again", "fresh/file");
  tree.makeHardLink("fresh/app.ts", "src/app.ts");
  tree.setXattr("tool.sh", "user.mark", "set");
  tree.setMode("tool.sh", 0o711);
  tree.setTime(".", [1_450_000_000, 5]);
}
