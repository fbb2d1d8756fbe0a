import { bytesFromPath } from "../../core/paths/byte-path.ts";

/**
 * - `write`: the usual way; the file must be there.
 * - `create`: the same, but a missing file is made.
 * - `read`: nothing is ever written to the file. In WAL mode the files beside it are made if they are
 *   missing.
 * - `frozen`: only for a file that nobody changes: no lock is taken, and nothing beside it is looked at or
 *   made.
 */
export type SqliteMode = "write" | "create" | "read" | "frozen";

const PARAMETERS: { readonly [mode in SqliteMode]: string } = {
  write: "mode=rw",
  create: "mode=rwc",
  read: "mode=ro",
  frozen: "mode=ro&immutable=1",
};

/** How SQLite is told which file to open, whatever bytes its path has. */
export function sqliteUri(path: string, mode: SqliteMode): string {
  const escaped = [...bytesFromPath(path)].map((byte) => {
    const character = String.fromCharCode(byte);
    return /[A-Za-z0-9/._~-]/.test(character) ? character : `%${byte.toString(16).padStart(2, "0")}`;
  });
  return `file:${escaped.join("")}?${PARAMETERS[mode]}`;
}
