import { BusyError } from "../core/errors.ts";
import type { Owner } from "../core/owner.ts";
import type { PlanRecord } from "../core/plan.ts";
import { ensureFolder } from "../files/remove-tree.ts";
import { parsed, readSmallFile, writeSmallFile } from "../files/small-file.ts";
import { failedWith } from "../system/errno.ts";
import { failpoint } from "../system/failpoints.ts";
import type { Folder } from "../system/folder.ts";
import { newId } from "../system/new-id.ts";
import { identityOf, isProcessAlive } from "../system/process-identity.ts";
import type { OwnerRegistry } from "./claims.ts";
import type { RunFolders } from "./run-folders.ts";

const POINTS = { make: failpoint("use.make"), write: failpoint("use.write"), forget: failpoint("use.forget") };

/** A command that runs inside a plan. */
export interface Use {
  readonly id: string;
  readonly command: string;
  readonly strict: boolean;
  /** The Drydock that started it. */
  readonly owner: Owner;
  /** A process in its namespaces, through which others get into its view; absent while it is being started. */
  readonly keeper?: Owner;
}

/** A use of our own. */
export interface OwnUse {
  readonly id: string;
  /** The command is up, and this process is in its namespaces. */
  started(keeper: number | undefined): void;
  /** It has ended. */
  end(): void;
}

/**
 * Who is inside a plan. Each command is a file, `runs/PLAN/users/ULID`, that counts for as long as the Drydock that started it, or the
 * command itself, lives; what a dead one left is removed by whoever finds it. Callers hold the plan's claim.
 */
export class Uses {
  readonly #folders: RunFolders;
  readonly #owners: OwnerRegistry;

  constructor(folders: RunFolders, owners: OwnerRegistry) {
    this.#folders = folders;
    this.#owners = owners;
  }

  /** The commands that are running inside, the oldest first. */
  living(planId: string): readonly Use[] {
    using plan = this.#folders.ifThere(planId);
    using users = plan?.openBelowIfThere("users");
    if (users === undefined) return [];
    return users
      .names()
      .toSorted()
      .flatMap((name) => this.#livingOrForgotten(users, name));
  }

  /** Whether anybody, dead or alive, is recorded as being inside. Cheap. */
  hasRecords(planId: string): boolean {
    using plan = this.#folders.ifThere(planId);
    using users = plan?.openBelowIfThere("users");
    return users !== undefined && users.names().length > 0;
  }

  #livingOrForgotten(users: Folder, name: string): readonly Use[] {
    const bytes = readSmallFile(users, name);
    const use = bytes === undefined ? undefined : parsed<Use>(bytes);
    if (use !== undefined && this.#isAlive(use)) return [use];
    forget(users, name);
    return [];
  }

  #isAlive({ owner, keeper }: Use): boolean {
    return this.#owners.isAlive(owner) || (keeper !== undefined && isProcessAlive(keeper));
  }

  /** Refuses what would pull the ground from under a running command. */
  assertNone({ id, name }: PlanRecord): void {
    const [use] = this.living(id);
    if (use === undefined) return;
    throw new BusyError(`'${use.command}' is running in the plan ${name} (pid ${use.owner.pid}).`, {
      holder: `${use.command} (pid ${use.owner.pid} on ${use.owner.host})`,
      hint: `Wait until it has ended, or stop it with 'kill ${use.owner.pid}'.`,
    });
  }

  /** Counts a new command as inside from here on. */
  begin(planId: string, facts: Pick<Use, "command" | "strict">): OwnUse {
    const { owner, release } = this.#owners.enter();
    const use: Use = { id: newId(), ...facts, owner };
    const write = (record: Use) => this.#within(planId, (users) => save(users, record));
    try {
      write(use);
    } catch (thrown) {
      release();
      throw thrown;
    }
    return {
      id: use.id,
      started: (pid) => {
        if (pid !== undefined) write({ ...use, keeper: identityOf(pid, use.command) });
      },
      end: () => {
        try {
          this.#within(planId, (users) => forget(users, use.id));
        } finally {
          release();
        }
      },
    };
  }

  #within(planId: string, action: (users: Folder) => void): void {
    using plan = this.#folders.of(planId);
    using users = ensureFolder(POINTS.make, plan, "users");
    action(users);
  }
}

function save(users: Folder, use: Use): void {
  writeSmallFile(POINTS.write, users, use.id, Buffer.from(JSON.stringify(use)));
}

/** Somebody else may have been first. */
function forget(users: Folder, name: string): void {
  try {
    users.removeFile(POINTS.forget, name);
  } catch (thrown) {
    if (!failedWith(thrown, "ENOENT")) throw thrown;
  }
}
