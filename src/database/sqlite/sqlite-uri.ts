import { bytesFromPath } from "../../core/paths/byte-path.ts";

/**
 * - `write`: reads and writes; the file must exist.
 * - `create`: reads and writes; a missing file is created.
 * - `read`: never writes to the file. In WAL mode, missing files beside it are created.
 * - `frozen`: only for a file that no process changes: takes no lock, and neither reads nor creates files
 *   beside it.
 */
export type SqliteMode = "write" | "create" | "read" | "frozen";

const PARAMETERS: { readonly [mode in SqliteMode]: string } = {
  write: "mode=rw",
  create: "mode=rwc",
  read: "mode=ro",
  frozen: "mode=ro&immutable=1",
};

/** The URI that makes SQLite open this file, whatever bytes its path has. */
export function sqliteUri(path: string, mode: SqliteMode): string {
  const escaped = [...bytesFromPath(path)].map((byte) => {
    const character = String.fromCharCode(byte);
    return /[A-Za-z0-9/._~-]/.test(character) ? character : `%${byte.toString(16).padStart(2, "0")}`;
  });
  return `file:${escaped.join("")}?${PARAMETERS[mode]}`;
}
