import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { walkFrom } from "../tree/walk.ts";
import type { ChangeSet } from "./change-set.ts";

/**
 * The folders below replaced folders. A diff does not list them, because the topmost folder moves as a whole,
 * but their times are part of the state.
 */
export function* replacedFolders(
  { entries }: Pick<ChangeSet, "entries">,
  own: Folder,
): Generator<{ readonly entry: string; readonly path: string; readonly facts: Facts }> {
  for (const { path: entry, operation, before, after } of entries) {
    if (operation !== "replace" || before?.kind !== "directory" || after?.kind !== "directory") continue;
    for (const { path, facts } of walkFrom(own, entry))
      if (facts.kind === "directory") yield { entry, path, facts };
  }
}
