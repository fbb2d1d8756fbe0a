import type { Folder } from "../../system/calls/folder.ts";
import { realPathOf } from "../../system/data/locations.ts";
import { readTextFile } from "../../system/data/text-files.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { ViewRequest } from "./view.ts";
import type { HostFile } from "./view-mount.ts";

const POINTS = { make: failpoint("run.private") };
const TEMPORARY = ["/tmp", "/var/tmp"];
/** Folders in which daemons put their sockets. */
export const SOCKET_FOLDERS: readonly string[] = ["/run", "/var/run"];
const RESOLVER = "/etc/resolv.conf";
const MOST_BYTES = 1 << 20;

/** What `--strict` shows: private temporary folders for this command, and an empty /run. */
export function strictParts(own: Folder): Pick<ViewRequest, "folders" | "files" | "emptied"> {
  const folders = realPaths(TEMPORARY).map((at, index) => ({
    at,
    folder: temporaryFolder(own, `temporary-${index}`),
  }));
  return { folders, emptied: realPaths(SOCKET_FOLDERS), files: resolver() };
}

function temporaryFolder(own: Folder, name: string): string {
  own.ensureFolder(POINTS.make, name).close();
  own.setMode(POINTS.make, name, 0o1777);
  return own.label(name);
}

export function realPaths(paths: readonly string[]): readonly string[] {
  const real = paths.flatMap((path) => realPathOf(path) ?? []).filter((path) => path !== "/");
  return [...new Set(real)];
}

/** The resolver's configuration is often a file in /run. It is not a socket, so it stays. */
function resolver(): readonly HostFile[] {
  const at = realPathOf(RESOLVER);
  const bytes = at === undefined ? undefined : readTextFile(at, MOST_BYTES)?.bytes;
  return at === undefined || bytes === undefined
    ? []
    : [{ at, content: Buffer.from(bytes).toString("base64") }];
}
