import { closeSync, constants, fstatSync, mkdirSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Owner } from "../../core/owner.ts";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { unlessFailed } from "../calls/errno.ts";
import { namesIn } from "../data/existence.ts";
import { type Failpoint, failpoint, passFailpoint } from "../failpoints.ts";
import { isProcessAlive } from "../process/process-identity.ts";
import { takeLock, tryLock } from "./lock.ts";

/**
 * Who is alive, as the kernel knows it: each process that claims something holds a lock (flock) on a file of
 * its own in the state directory for as long as it lives. The lock goes only with the process, whatever kills
 * it, and it tells the truth across pid namespaces, where process ids do not.
 */
const POINTS = {
  file: failpoint("owner.file"),
  lock: failpoint("owner.lock"),
  release: failpoint("owner.release"),
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
    const fd = this.#lockedFile(file);
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
   * Until it is locked, the file of a living owner looks like that of a dead one and may be swept away: then
   * it is made anew.
   */
  #lockedFile(file: string): number {
    for (;;) {
      passFailpoint(POINTS.file);
      const fd = openSync(
        bytesFromPath(file),
        constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
        0o600,
      );
      try {
        passFailpoint(POINTS.lock);
        unlessFailed(LOCKS_NOT_TO_BE_HAD, () => takeLock({ fd, path: file }));
        if (fstatSync(fd).nlink > 0) return fd;
      } catch (thrown) {
        closeSync(fd);
        throw thrown;
      }
      closeSync(fd);
    }
  }

  /**
   * Whether the owner still holds its lock; where the file system has no locks, whether its process lives.
   * Only owners that have claimed something are asked about, and those have their lock. The file of a dead
   * one stays for the next `hold`, which sweeps.
   */
  isAlive(owner: Owner): boolean {
    const file = this.#file(owner);
    const fd = openIfThere(file);
    if (fd === undefined) return false;
    try {
      const isFree = lockIsFree(fd, file);
      return isFree === undefined ? isProcessAlive(owner) : !isFree;
    } finally {
      closeSync(fd);
    }
  }

  /** Removes the locks of dead processes. */
  #sweep(): void {
    for (const file of this.#files()) this.forget(file);
  }

  /** Removes the file of an owner, if that is dead. */
  forget(file: string): void {
    this.#ifDead(file, () => {
      passFailpoint(POINTS.sweep);
      rmSync(bytesFromPath(file), { force: true });
    });
  }

  /** The files of owners that are dead. */
  dead(): readonly string[] {
    return this.#files().filter((file) => this.#ifDead(file, () => true));
  }

  /**
   * Calls `action` while it has the lock of a dead owner: one that is only about to take its lock waits for
   * the end of it.
   */
  #ifDead<T>(file: string, action: () => T): T | undefined {
    const fd = openIfThere(file);
    if (fd === undefined) return undefined;
    try {
      return lockIsFree(fd, file) === true ? action() : undefined;
    } finally {
      closeSync(fd);
    }
  }

  #files(): readonly string[] {
    return namesIn(this.#folder).map((name) => join(this.#folder, name));
  }

  #file(owner: Owner): string {
    return join(this.#folder, `${owner.id}.lock`);
  }
}

/**
 * Whether the lock was to be had: then no living owner has it. Undefined where the file system has no locks.
 * It is taken shared, so that two processes that look at once don't take each other for the owner.
 */
function lockIsFree(fd: number, path: string): boolean | undefined {
  return unlessFailed(LOCKS_NOT_TO_BE_HAD, () => tryLock({ fd, path }, "shared"));
}

function openIfThere(file: string): number | undefined {
  return unlessFailed(["ENOENT"], () =>
    openSync(bytesFromPath(file), constants.O_RDWR | constants.O_NOFOLLOW),
  );
}
