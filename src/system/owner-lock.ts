import { closeSync, constants, fstatSync, mkdirSync, openSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bytesFromPath } from "../core/byte-path.ts";
import type { Owner } from "../core/owner.ts";
import { failedWith, systemCallError } from "./errno.ts";
import { type Failpoint, failpoint, passFailpoint } from "./failpoints.ts";
import { calls, lastErrno } from "./native.ts";
import { isProcessAlive } from "./process-identity.ts";

/**
 * Who is alive, as the kernel knows it: each process that claims something holds a lock (flock) on a file of its own in the state
 * directory for as long as it lives. The lock goes only with the process, whatever kills it, and it tells the truth across pid namespaces,
 * where process ids do not.
 */
const LOCK_EXCLUSIVE = 2;
const LOCK_NOW = 4;
/** Between making its file and locking it, a living owner looks dead: for no more than a moment. */
const LONG_AGO_MS = 60_000;
const POINTS = {
  file: failpoint("owner.file"),
  release: failpoint("owner.release"),
  forget: failpoint("owner.forget"),
  sweep: failpoint("owner.sweep"),
};
const LOCKS_NOT_TO_BE_HAD = ["ENOLCK", "EOPNOTSUPP", "ENOTSUP", "ENOSYS"];

export class OwnerLock {
  readonly #folder: string;

  constructor(stateDir: string) {
    this.#folder = join(stateDir, "owners");
  }

  /** Takes this owner's lock, until the process ends or the returned function gives it up. */
  hold(point: Failpoint, owner: Owner): () => void {
    passFailpoint(point);
    mkdirSync(bytesFromPath(this.#folder), { recursive: true, mode: 0o700 });
    this.#sweep();
    const file = this.#file(owner);
    passFailpoint(POINTS.file);
    const fd = openSync(
      bytesFromPath(file),
      constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      0o600,
    );
    this.#lock(fd, LOCK_EXCLUSIVE, file);
    return () => {
      try {
        passFailpoint(POINTS.release);
        rmSync(bytesFromPath(file), { force: true });
      } catch {
        // Without the lock on it, it is the file of a dead owner, and the next one who comes sweeps it away.
      } finally {
        closeSync(fd);
      }
    };
  }

  /**
   * Whether the owner still holds its lock; where the file system has no locks, whether its process lives. What a dead one left is
   * removed. Only owners that have claimed something are asked about, and those have their lock.
   */
  isAlive(owner: Owner): boolean {
    const file = this.#file(owner);
    const fd = openIfThere(file);
    if (fd === undefined) return false;
    try {
      const taken = this.#lock(fd, LOCK_EXCLUSIVE | LOCK_NOW, file);
      const alive = taken === "unsupported" ? isProcessAlive(owner) : taken === "held-by-another";
      if (!alive) remove(POINTS.forget, file);
      return alive;
    } finally {
      closeSync(fd);
    }
  }

  /** Removes the locks of processes that died before they claimed anything, so that nobody ever asks about them. */
  #sweep(): void {
    const before = Date.now() - LONG_AGO_MS;
    for (const name of readdirSync(bytesFromPath(this.#folder))) {
      const file = join(this.#folder, name);
      const fd = openIfThere(file);
      if (fd === undefined) continue;
      try {
        const isOld = fstatSync(fd).mtimeMs < before;
        if (isOld && this.#lock(fd, LOCK_EXCLUSIVE | LOCK_NOW, file) === "taken") remove(POINTS.sweep, file);
      } finally {
        closeSync(fd);
      }
    }
  }

  #lock(fd: number, operation: number, file: string): "taken" | "held-by-another" | "unsupported" {
    if (calls.flock(fd, operation) === 0) return "taken";
    const error = systemCallError(lastErrno(), "flock", file);
    if (failedWith(error, "EAGAIN", "EWOULDBLOCK")) return "held-by-another";
    if (failedWith(error, ...LOCKS_NOT_TO_BE_HAD)) return "unsupported";
    throw error;
  }

  #file(owner: Owner): string {
    return join(this.#folder, `${owner.id}.lock`);
  }
}

function remove(point: Failpoint, file: string): void {
  passFailpoint(point);
  rmSync(bytesFromPath(file), { force: true });
}

function openIfThere(file: string): number | undefined {
  try {
    return openSync(bytesFromPath(file), constants.O_RDWR | constants.O_NOFOLLOW);
  } catch (thrown) {
    if (failedWith(thrown, "ENOENT")) return undefined;
    throw thrown;
  }
}
