import { closeSync, constants, fstatSync, mkdirSync, openSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Owner } from "../../core/owner.ts";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { unlessFailed } from "../calls/errno.ts";
import { namesIn } from "../data/existence.ts";
import { type Failpoint, failpoint, passFailpoint } from "../failpoints.ts";
import { isProcessAlive } from "../process/process-identity.ts";
import { takeLock, tryLock } from "./lock.ts";

/**
 * Tells which owners are alive. Each process that claims something holds a lock (flock) on its own file in
 * the state directory until it ends. The kernel releases the lock only with the process, however it ends, and
 * the lock is right across pid namespaces, where process ids are not.
 */
const POINTS = {
  file: failpoint("owner.file"),
  lock: failpoint("owner.lock"),
  release: failpoint("owner.release"),
  reuse: failpoint("owner.reuse"),
  sweep: failpoint("owner.sweep"),
};
/** The lock of an owner. */
export interface HeldLock {
  /** Gives it up: the owner counts as dead. */
  release(): void;
  /**
   * Makes it the lock of another owner, which spares making a new one. From then on the first owner counts as
   * dead.
   */
  reuse(next: Owner): void;
}

const NO_LOCKS = ["ENOLCK", "EOPNOTSUPP", "ENOTSUP", "ENOSYS"];

export class OwnerLock {
  readonly #folder: string;

  constructor(stateDir: string) {
    this.#folder = join(stateDir, "owners");
  }

  /** Takes this owner's lock, until the process ends or gives it up. */
  hold(point: Failpoint, owner: Owner): HeldLock {
    passFailpoint(point);
    mkdirSync(bytesFromPath(this.#folder), { recursive: true, mode: 0o700 });
    this.#sweep();
    let file = this.#file(owner);
    const fd = this.#lockedFile(file);
    return {
      release: () => {
        try {
          passFailpoint(POINTS.release);
          rmSync(bytesFromPath(file), { force: true });
        } catch {
          // Once unlocked, it is the file of a dead owner, and the next process sweeps it away.
        } finally {
          closeSync(fd);
        }
      },
      reuse: (next) => {
        passFailpoint(POINTS.reuse);
        const renamed = this.#file(next);
        renameSync(bytesFromPath(file), bytesFromPath(renamed));
        file = renamed;
      },
    };
  }

  /**
   * Until it is locked, the file of a living owner looks like that of a dead one, and another process may
   * sweep it away. Then it is made again.
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
        unlessFailed(NO_LOCKS, () => takeLock({ fd, path: file }));
        if (fstatSync(fd).nlink > 0) return fd;
      } catch (thrown) {
        closeSync(fd);
        throw thrown;
      }
      closeSync(fd);
    }
  }

  /**
   * Whether the owner still holds its lock; if the file system has no locks, whether its process lives. Ask
   * only about owners that have claimed something: those have their lock. The next `hold` sweeps the files of
   * dead owners.
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

  /** Removes the file of an owner, if the owner is dead. */
  forget(file: string): void {
    this.#ifDead(file, () => {
      passFailpoint(POINTS.sweep);
      rmSync(bytesFromPath(file), { force: true });
    });
  }

  /** The files of dead owners. */
  dead(): readonly string[] {
    return this.#files().filter((file) => this.#ifDead(file, () => true));
  }

  /**
   * Calls `action` while it holds the lock of a dead owner. An owner that is about to take its lock waits
   * meanwhile.
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
 * Whether no living owner holds the lock; undefined if the file system has no locks. Takes the lock shared,
 * so that two processes that ask at once do not take each other for the owner.
 */
function lockIsFree(fd: number, path: string): boolean | undefined {
  return unlessFailed(NO_LOCKS, () => tryLock({ fd, path }, "shared"));
}

function openIfThere(file: string): number | undefined {
  return unlessFailed(["ENOENT"], () =>
    openSync(bytesFromPath(file), constants.O_RDWR | constants.O_NOFOLLOW),
  );
}
