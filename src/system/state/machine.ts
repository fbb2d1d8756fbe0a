import { hostname, release, userInfo } from "node:os";
import type { Owner } from "../../core/owner.ts";
import { failpoint } from "../failpoints.ts";
import { currentOwner } from "../process/process-identity.ts";
import { OwnerLock } from "./owner-lock.ts";

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

/** The owners of this machine's state directory: see owner-lock.ts. */
export class MachineOwners {
  readonly #lock: OwnerLock;
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
    const owner = this.self();
    return { owner, release: this.#lock.hold(POINTS.hold, owner) };
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
