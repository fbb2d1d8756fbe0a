import { joinPath } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { ChangeSet } from "./change-set.ts";

/**
 * The folders below replaced folders. A diff does not list them, because the topmost folder moves as a whole,
 * but their times are part of the state. Without recursion, because folders may be very deep.
 */
export function* replacedFolders(
  { entries }: Pick<ChangeSet, "entries">,
  own: Folder,
): Generator<{ readonly entry: string; readonly path: string; readonly facts: Facts }> {
  for (const { path: entry, operation, before, after } of entries) {
    if (operation !== "replace" || before?.kind !== "directory" || after?.kind !== "directory") continue;
    const waiting = [entry];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      using folder = own.openBelowIfThere(path);
      if (folder === undefined) continue;
      yield { entry, path, facts: folder.ownFacts() };
      for (const name of folder.names().sort())
        if (folder.facts(name)?.kind === "directory") waiting.push(joinPath(path, name));
    }
  }
}
