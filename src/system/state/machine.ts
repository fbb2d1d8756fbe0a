import { hostname, release, userInfo } from "node:os";
import type { Owner } from "../../core/owner.ts";
import { failpoint } from "../failpoints.ts";
import { currentOwner, newOwnerId } from "../process/process-identity.ts";
import { type HeldLock, OwnerLock } from "./owner-lock.ts";

const POINTS = { hold: failpoint("owner.hold") };

/** The user for histories: "name@host". */
export function currentActor(): string {
  const uid = process.geteuid?.() ?? 0;
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // A uid without an entry in the user database has no name.
    return `uid ${uid}@${hostname()}`;
  }
}

export function kernelRelease(): string {
  return release();
}

/** An owner that counts as alive, and its lock. */
interface Living {
  readonly owner: Owner;
  readonly lock: HeldLock;
}

/** The owners of this machine's state directory: see owner-lock.ts. */
export class MachineOwners {
  readonly #lock: OwnerLock;
  /** An owner that did nothing yet, with the lock of one that has ended: a command is many, one by one. */
  #next: Living | undefined;
  readonly #command: string;
  readonly #host: string | undefined;

  /** `host` is the name of this machine in its fleet. */
  constructor(stateDir: string, command: string, host?: string) {
    this.#lock = new OwnerLock(stateDir);
    this.#command = command;
    this.#host = host;
  }

  /** This process, for records of who made something. It claims nothing. */
  self(): Owner {
    const owner = currentOwner(this.#command);
    return this.#host === undefined ? owner : { ...owner, host: this.#host };
  }

  enter(): { readonly owner: Owner; release(): void } {
    const living = this.#next ?? this.#fresh();
    this.#next = undefined;
    return { owner: living.owner, release: () => this.#release(living) };
  }

  #fresh(): Living {
    const owner = this.self();
    return { owner, lock: this.#lock.hold(POINTS.hold, owner) };
  }

  #release({ owner, lock }: Living): void {
    if (this.#next !== undefined) {
      lock.release();
      return;
    }
    const next = { ...owner, id: newOwnerId() };
    try {
      lock.reuse(next);
      this.#next = { owner: next, lock };
    } catch {
      // A release ends a living owner, whatever fails on the way.
      lock.release();
    }
  }

  /** Leaves no lock behind for the next owner. */
  close(): void {
    this.#next?.lock.release();
    this.#next = undefined;
  }

  /** The lock files of dead owners. */
  dead(): readonly string[] {
    return this.#lock.dead();
  }

  /** Removes the lock file of a dead owner. */
  forget(file: string): void {
    this.#lock.forget(file);
  }

  isAlive(owner: Owner): boolean {
    return this.#lock.isAlive(owner);
  }
}
