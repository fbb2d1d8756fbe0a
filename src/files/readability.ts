import { UnsupportedError } from "../core/errors.ts";
import type { Facts } from "../system/facts.ts";
import type { Folder } from "../system/folder.ts";

/**
 * Refuses what the user has forbidden himself to read in a sandbox, a file of mode 0200 or a folder of mode 0000: nobody could say what is
 * in it, nor whether a program still writes to it. Root reads everything.
 */
export function assertReadable(parent: Folder, name: string, { kind, mode, uid }: Facts): void {
  const READ = 0o400;
  const READ_AND_ENTER = 0o500;
  const needed = kind === "directory" ? READ_AND_ENTER : kind === "file" ? READ : 0;
  // The other bits do not count for who owns it, and his own count for nobody else.
  if ((mode & needed) === needed || uid === 0 || uid !== process.geteuid?.()) return;
  const shown = mode.toString(8).padStart(4, "0");
  throw new UnsupportedError(`${parent.label(name)} has mode ${shown}, so you may not read it, and it can't land.`, {
    hint: `Run 'chmod u+${kind === "directory" ? "rx" : "r"}' on it.`,
  });
}
