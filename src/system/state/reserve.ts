import { randomFillSync } from "node:crypto";
import { closeSync, constants, openSync, statSync, unlinkSync, writeSync } from "node:fs";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { unlessFailed } from "../calls/errno.ts";
import { failpoint, passFailpoint } from "../failpoints.ts";
import { freeRoom } from "../mount/file-system.ts";

/**
 * `reserve` in the state directory: a file that only takes up room. On a full disk nothing can be recorded,
 * not even a removal. So operations that make room (`plan cancel`, `cleanup purge`, `recover`) free the
 * reserve first, and make it again when they have ended; after a crash, the next command that finds room
 * does. A partial reserve, from a crash, counts as none.
 */
const POINTS = { keep: failpoint("reserve.keep"), free: failpoint("reserve.free") };
const NAME = "reserve";
/** Enough for the log and shared memory of the database, and the locks of a process. */
const RESERVE_BYTES = 1 << 20;
/** With less free room than this, others need it more. */
const LEAST_ROOM = 4 * RESERVE_BYTES;

/** Makes a reserve, if there is none and there is room. */
export function keepReserve(stateDir: string): void {
  const path = bytesFromPath(`${stateDir}/${NAME}`);
  const known = statSync(path, { throwIfNoEntry: false });
  if (known !== undefined && known.size >= RESERVE_BYTES) return;
  // Another process took the room first, or removed the whole state directory meanwhile.
  unlessFailed(["ENOSPC", "EDQUOT", "ENOENT"], () => {
    if (freeRoom(stateDir) >= LEAST_ROOM) fillReserve(path);
  });
}

function fillReserve(path: Buffer): void {
  const { O_WRONLY, O_CREAT, O_NOFOLLOW } = constants;
  passFailpoint(POINTS.keep);
  const fd = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    // Random bytes, because some file systems use no room for zeros.
    writeSync(fd, randomFillSync(Buffer.alloc(RESERVE_BYTES)), 0, RESERVE_BYTES, 0);
  } finally {
    closeSync(fd);
  }
}

/** Frees the reserve, if there is no room without it. */
export function freeReserve(stateDir: string): void {
  if (freeRoom(stateDir) >= RESERVE_BYTES) return;
  passFailpoint(POINTS.free);
  unlessFailed(["ENOENT"], () => unlinkSync(bytesFromPath(`${stateDir}/${NAME}`)));
}

/** Does something that makes room: if there is none, with the room of the reserve. */
export async function withReserve<T>(stateDir: string, makeRoom: () => Promise<T>): Promise<T> {
  freeReserve(stateDir);
  try {
    return await makeRoom();
  } finally {
    keepReserve(stateDir);
  }
}
