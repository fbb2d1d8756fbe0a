import { StateError } from "../../core/errors/errors.ts";
import { baseName, displayPath, parentPath } from "../../core/paths/byte-path.ts";
import { Folder } from "../calls/folder.ts";
import { realPathOf } from "../data/locations.ts";
import { readTextFile } from "../data/text-files.ts";
import { writeWhole } from "../data/whole-file.ts";
import { failpoint } from "../failpoints.ts";
import { whileLocked } from "./lock.ts";
import { ensureStateFolder } from "./state-folder.ts";

const POINTS = { folder: failpoint("secret.folder"), write: failpoint("secret.write") };
const LONGEST = 4096;
const OTHERS = 0o077;

/** The secret in a file that only the user can read. Makes the file with a new secret if it is missing. */
export function secretIn(path: string, make: () => string): string {
  const at = parentPath(path) || "/";
  ensureStateFolder(POINTS.folder, at);
  using folder = Folder.open(realPathOf(at) ?? at);
  return whileLocked(folder, () => {
    const found = readTextFile(path, LONGEST);
    if (found === undefined) {
      const secret = make();
      writeWhole(POINTS.write, folder, baseName(path), Buffer.from(`${secret}\n`), "durable");
      return secret;
    }
    if (found.uid === process.geteuid?.() && (found.mode & OTHERS) === 0 && found.text.trim() !== "")
      return found.text.trim();
    throw new StateError(`${displayPath(path)} is empty, or not private to you.`, {
      hint: "Remove it; a new one is made with the next start.",
    });
  });
}
