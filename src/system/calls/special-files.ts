import { readdirSync } from "node:fs";
import { bytesFromPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { unlessFailed } from "./errno.ts";

/** The paths of the folders, sockets and fifos directly in a folder; none if this user may not read it. */
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
