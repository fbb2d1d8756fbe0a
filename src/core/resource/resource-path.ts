import { UsageError } from "../errors/errors.ts";
import { displayPath, ROOT_PATH } from "../paths/byte-path.ts";

const LONGEST_NAME = 255;

/**
 * A path inside a resource that a strategy may use: relative, below the root, without empty, `.` or `..`
 * names. Refuses any other. System calls check whether links lead out.
 */
export function assertResourcePath(path: string): string {
  if (path === ROOT_PATH) return path;
  const trimmed = path.startsWith("./") ? path.slice(2) : path;
  if (trimmed === "") throw refuse(path, "is empty");
  if (trimmed.startsWith("/")) throw refuse(path, "is absolute");
  if (trimmed.includes("\0")) throw refuse(path, "holds a NUL byte");
  for (const name of trimmed.split("/")) {
    if (name === "..") throw refuse(path, "leads out of the resource");
    if (name === "" || name === ".") throw refuse(path, "has an empty or '.' part");
    if (name.length > LONGEST_NAME) throw refuse(path, "has a name of more than 255 bytes");
  }
  return trimmed;
}

function refuse(path: string, why: string): UsageError {
  const shown = path.length > 100 ? `${path.slice(0, 100)}…` : path;
  return new UsageError(`The path '${displayPath(shown)}' ${why}.`, {
    hint: "Give a path relative to the resource, like src/app.ts.",
    code: "BAD_PATH",
  });
}
