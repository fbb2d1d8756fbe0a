import { unlessFailed } from "../../../system/calls/errno.ts";
import { parsed, readWhole, writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { mountRights } from "../../../system/mount/mount-rights.ts";
import { whileLocked } from "../../../system/state/lock.ts";
import { openStateFolder } from "../../../system/state/state-folder.ts";
import type { OverlayWay } from "../layout.ts";

/**
 * `overlay-ways` in the state directory: the ways to mount that were tried there and work, with what they
 * depend on (mount-rights.ts). A trial takes up to 40 ms, and every new overlay would need one. A way that
 * does not work is tried each time: the user may be about to change that.
 */
interface RememberedWays {
  readonly rights: string;
  readonly work: readonly OverlayWay[];
}

const WRITE = failpoint("overlay.remember-way");
const NAME = "overlay-ways";

/** Whether a trial in this state directory, by a process with the rights of this one, found that it works. */
export function isKnownToWork(way: OverlayWay, stateDir: string): boolean {
  return knownToWork(stateDir, mountRights()).includes(way);
}

/** Remembers that it works, unless there is no room: the next process then tries it again. */
export function rememberWay(way: OverlayWay, stateDir: string): void {
  using folder = openStateFolder(stateDir);
  const rights = mountRights();
  const write = () => {
    const remembered: RememberedWays = { rights, work: [...knownToWork(stateDir, rights), way] };
    writeWhole(WRITE, folder, NAME, Buffer.from(`${JSON.stringify(remembered)}\n`));
  };
  unlessFailed(["ENOSPC", "EDQUOT", "EROFS"], () => whileLocked(folder, write));
}

/** A file that a power cut left empty, or that is not ours, counts as missing. */
function knownToWork(stateDir: string, rights: string): readonly OverlayWay[] {
  using folder = openStateFolder(stateDir);
  const found = parsed<Partial<RememberedWays> | null>(readWhole(folder, NAME) ?? Buffer.alloc(0));
  return found?.rights === rights && Array.isArray(found.work) ? found.work : [];
}
