import { randomFillSync } from "node:crypto";
import { closeSync, constants, openSync, statSync, unlinkSync, writeSync } from "node:fs";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { unlessFailed } from "../calls/errno.ts";
import { failpoint, passFailpoint } from "../failpoints.ts";
import { freeRoom } from "../mount/file-system.ts";

/**
 * `reserve` in the state directory: a file that holds nothing but room. On a full disk nothing can be
 * recorded, not even that something is to be removed; so what makes room (`plan cancel`, `cleanup purge`,
 * `recover`) frees the reserve first, and the next command that finds room keeps it again. Half of one, from
 * a crash, is as good as none.
 */
const POINTS = { keep: failpoint("reserve.keep"), free: failpoint("reserve.free") };
const NAME = "reserve";
/** Enough for the log of the database, its shared memory, and the locks of a process. */
const RESERVE_BYTES = 1 << 20;
/** Where there is less than this, others need the room more. */
const LEAST_ROOM = 4 * RESERVE_BYTES;

/** Keeps a reserve, if there is none and there is room for one. */
export function keepReserve(stateDir: string): void {
  const path = bytesFromPath(`${stateDir}/${NAME}`);
  const known = statSync(path, { throwIfNoEntry: false });
  if (known !== undefined && known.size >= RESERVE_BYTES) return;
  // Another process was quicker to take the room, or the whole state directory was removed meanwhile.
  unlessFailed(["ENOSPC", "EDQUOT", "ENOENT"], () => {
    if (freeRoom(stateDir) >= LEAST_ROOM) fillReserve(path);
  });
}

function fillReserve(path: Buffer): void {
  const { O_WRONLY, O_CREAT, O_NOFOLLOW } = constants;
  passFailpoint(POINTS.keep);
  const fd = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    // Of random bytes, because some file systems take no room for zeros.
    writeSync(fd, randomFillSync(Buffer.alloc(RESERVE_BYTES)), 0, RESERVE_BYTES, 0);
  } finally {
    closeSync(fd);
  }
}

/** Gives the reserve up, where there is no room without it. */
export function freeReserve(stateDir: string): void {
  if (freeRoom(stateDir) >= RESERVE_BYTES) return;
  passFailpoint(POINTS.free);
  unlessFailed(["ENOENT"], () => unlinkSync(bytesFromPath(`${stateDir}/${NAME}`)));
}
