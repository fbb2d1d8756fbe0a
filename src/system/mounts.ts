import { readFileSync } from "node:fs";
import { pathFromBytes } from "../core/byte-path.ts";

/** The mount points, in this process's view, that lie below this absolute path. */
export function mountsBelow(path: string): string[] {
  const prefix = path === "/" ? "/" : `${path}/`;
  return mountPoints().filter((point) => point.startsWith(prefix));
}

function mountPoints(): string[] {
  return readFileSync("/proc/self/mountinfo", "latin1")
    .split("\n")
    .flatMap((line) => line.split(" ").slice(4, 5))
    .map(unescapePath);
}

/** The path that a field of mountinfo, read as Latin-1, stands for: blanks, line ends and backslashes are octal in it. */
export function unescapePath(field: string): string {
  const bytes = field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
  return pathFromBytes(Buffer.from(bytes, "latin1"));
}
