import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT_PATH } from "../../src/core/paths/byte-path.ts";
import { Folder } from "../../src/system/calls/folder.ts";
import { writeXattrs } from "../../src/system/calls/xattrs.ts";
import { failpoint } from "../../src/system/failpoints.ts";

const TMPFS = 0x01021994;
let chosen: string | undefined;

/**
 * A folder in memory, if there is one that keeps extended attributes; else the temporary one. What is tested
 * with SIGKILL needs no disk: a dead process loses nothing that it had written, and nobody waits for flushes
 * there.
 */
export function fastFolder(): string {
  chosen ??= keepsXattrs("/dev/shm") ? "/dev/shm" : tmpdir();
  return chosen;
}

function keepsXattrs(place: string): boolean {
  try {
    if (statfsSync(place).type !== TMPFS) return false;
    const probe = mkdtempSync(join(place, "drydock-probe-"));
    try {
      using folder = Folder.open(probe);
      return (
        writeXattrs(failpoint("test.fixture"), folder, ROOT_PATH, { "user.probe": "MQ==" }, {}).length === 0
      );
    } finally {
      rmSync(probe, { recursive: true, force: true });
    }
  } catch {
    // Not there, or not for us.
    return false;
  }
}
