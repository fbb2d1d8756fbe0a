import { mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Makes a folder with an unpredictable name that only this user can enter, in the system's temporary folder
 * or another one.
 */
export function makeScratchFolder(name: string, parent: string = tmpdir()): string {
  return mkdtempSync(join(realpathSync(parent), `${name}-`));
}
