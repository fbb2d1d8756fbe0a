import { accessSync, constants } from "node:fs";

/** Where systems keep their own programs; a user's PATH often lacks the second half. */
const FOLDERS = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin"];

/** The path of a program of the system, whatever PATH says; undefined if there is none. */
export function systemProgram(name: string): string | undefined {
  return programAmong(FOLDERS, name);
}

/** The first program of this name in these folders. */
export function programAmong(folders: readonly string[], name: string): string | undefined {
  return folders.map((folder) => `${folder}/${name}`).find(isProgram);
}

/** Whether this user may run the file. */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // It is missing, or this user may not run it.
    return false;
  }
}
