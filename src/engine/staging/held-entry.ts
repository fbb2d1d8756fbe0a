import { joinPath } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { readXattrs, readXattrsOfOpen } from "../../system/calls/xattrs.ts";
import { isOpenForWriting } from "../../system/data/file-data.ts";
import type { LandingRules } from "../checks/landing-policy.ts";

/** An entry that was taken out of a sandbox. */
export interface TakenEntry {
  readonly parent: Folder;
  readonly name: string;
  /** Its path in the sandbox. */
  readonly path: string;
}

/**
 * Whether a process has the entry, or a file in it, open for writing; or whether it may not land unchanged.
 * No process can reach it by its path any more, so "no" stays true.
 */
export function isHeld({ parent, name, path }: TakenEntry, facts: Facts, rules: LandingRules): boolean {
  if (facts.kind === "directory") {
    using folder = parent.openChild(name);
    return folder.names().some((child) => {
      const inside = folder.facts(child);
      return (
        inside !== undefined &&
        isHeld({ parent: folder, name: child, path: joinPath(path, child) }, inside, rules)
      );
    });
  }
  if (facts.kind !== "file") return !rules.landsAsIs(path, facts, () => readXattrs(parent, name));
  const fd = parent.openFile(name);
  try {
    return !rules.landsAsIs(path, facts, () => readXattrsOfOpen(fd, parent, name)) || isOpenForWriting(fd);
  } finally {
    closeFile(fd);
  }
}
