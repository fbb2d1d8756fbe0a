import { joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { type Facts, lastFacts, statListed } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readNames } from "../../system/calls/listing.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";
import type { Steps } from "../work/pace.ts";
import type { BaselineBuilder } from "./baseline-builder.ts";

/** Records a tree in a baseline without copying it. The tree itself is compared with the baseline later. */
export function* recordTree(
  folder: Folder,
  builder: BaselineBuilder,
  path: string = ROOT_PATH,
  only?: string,
): Steps {
  const found: (readonly [name: string, facts: Facts])[] = [];
  readNames(folder, (name, pointer) => {
    if ((only === undefined || name === only) && statListed(folder, pointer)) found.push([name, lastFacts()]);
  });
  for (const [name, facts] of found) {
    const childPath = joinPath(path, name);
    if (facts.kind === "directory") {
      using below = folder.openChild(name);
      yield* recordTree(below, builder, childPath);
      continue;
    }
    const target = facts.kind === "symlink" ? folder.readLink(name) : undefined;
    builder.add({
      path: childPath,
      original: facts,
      copy: facts,
      xattrs: readXattrs(folder, name),
      ...(target !== undefined && { target }),
    });
  }
  const facts = folder.ownFacts();
  builder.add({ path, original: facts, copy: facts, xattrs: readXattrs(folder, ROOT_PATH) });
  yield found.length;
}
