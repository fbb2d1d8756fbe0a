import { readdirSync } from "node:fs";
import { bytesFromPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { unlessFailed } from "./errno.ts";

/**
 * The folders directly in one, and what is a socket or fifo there, by their paths. Of a folder that we may
 * not read, nothing.
 */
export function foldersAndSpecials(folder: string): {
  readonly folders: readonly string[];
  readonly specials: readonly string[];
} {
  const entries = entriesOf(folder).map((entry) => ({
    path: `${folder === "/" ? "" : folder}/${pathFromBytes(entry.name)}`,
    isFolder: entry.isDirectory(),
    isSpecial: entry.isSocket() || entry.isFIFO(),
  }));
  return {
    folders: entries.filter(({ isFolder }) => isFolder).map(({ path }) => path),
    specials: entries.filter(({ isSpecial }) => isSpecial).map(({ path }) => path),
  };
}

function entriesOf(folder: string) {
  return (
    unlessFailed(["EACCES", "ENOENT", "ENOTDIR"], () =>
      readdirSync(bytesFromPath(folder), { withFileTypes: true, encoding: "buffer" }),
    ) ?? []
  );
}
