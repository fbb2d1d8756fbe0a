import { BusyError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { walkFrom } from "../tree/walk.ts";
import { isWritten } from "../tree/written-file.ts";

/**
 * Refuses to put other files in the place of files that a command has open for writing. The command would go
 * on writing to a file without a name, and what it writes would be lost. Commands stand still, so none can
 * open another one meanwhile.
 */
export function assertNoneWritten(own: Folder, paths: Iterable<string>): void {
  for (const top of paths)
    for (const { path, parent, name, facts } of walkFrom(own, top))
      if (facts.kind === "file" && isWritten(parent, name)) throw inUse(path);
}

function inUse(path: string): BusyError {
  return new BusyError(
    `A command of the plan has ${displayPath(path)} open for writing, and the restore would put another file in its place.`,
    {
      holder: "a command of the plan",
      hint: "End the command that writes to it, or wait until it has closed the file, and try again.",
    },
  );
}
