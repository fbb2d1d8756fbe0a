import { BusyError } from "../../core/errors/errors.ts";
import type { Owner } from "../../core/owner.ts";
import type { PlanRecord } from "../../core/plan.ts";
import { unlessGone } from "../../engine/tree/remove-tree.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { identityOf, isProcessAlive } from "../../system/process/process-identity.ts";
import { newId } from "../../system/state/new-id.ts";
import type { OwnerRegistry } from "../access/claims.ts";
import type { RunFolders } from "./run-folders.ts";

const POINTS = { write: failpoint("use.write"), forget: failpoint("use.forget") };

/** A command that runs inside a plan. */
export interface Use {
  readonly id: string;
  readonly command: string;
  readonly strict: boolean;
  /** A digest of what its policy lets it see. */
  readonly policy?: string;
  /** For a detached command: since when it runs. UTC, ISO 8601. */
  readonly detached?: string;
  /** The Drydock process that started it. */
  readonly owner: Owner;
  /** The anchor of its namespaces (see `started`), `keeper` on disk. Absent until the command is up. */
  readonly keeper?: Owner;
}

/** A use of this process. */
export interface OwnUse {
  readonly id: string;
  /** The command is up. Other commands join its view through the namespaces of the process `anchor`. */
  started(anchor: number | undefined): void;
  /** The command has ended. */
  end(): void;
}

/**
 * The commands that run inside plans. Each is a file, `uses/PLAN-ULID`, that counts as long as the Drydock
 * that started the command, or the anchor of its namespaces, lives. The next reader of the plan's uses
 * removes the file of a dead one. All plans share one folder, so that a start pays for running commands, not
 * for open plans. Callers hold the plan's claim.
 */
export class Uses {
  readonly #folders: RunFolders;
  readonly #owners: OwnerRegistry;

  constructor(folders: RunFolders, owners: OwnerRegistry) {
    this.#folders = folders;
    this.#owners = owners;
  }

  /** The commands that run inside, oldest first. */
  living(planId: string): readonly Use[] {
    using users = this.#folders.usesIfThere();
    if (users === undefined) return [];
    return users
      .names()
      .filter((name) => name.startsWith(`${planId}-`))
      .toSorted()
      .flatMap((name) => this.#livingOrForgotten(users, name));
  }

  /** The detached command that runs inside. Needs no claim. */
  detached(planId: string): Use | undefined {
    return this.#seen(planId).find(({ detached }) => detached !== undefined);
  }

  /** Removes nothing, so it needs no claim. */
  #seen(planId: string): readonly Use[] {
    using users = this.#folders.usesIfThere();
    const names = users?.names().filter((name) => name.startsWith(`${planId}-`)) ?? [];
    return names.flatMap((name) => (users && this.#living(users, name)) ?? []);
  }

  /**
   * The plans with a dead command. Removes nothing, so it needs no claim; costs nothing without recorded
   * commands.
   */
  abandoned(): readonly string[] {
    if (this.#folders.useNames().length === 0) return [];
    using users = this.#folders.usesIfThere();
    const dead = users?.names().filter((name) => this.#living(users, name) === undefined) ?? [];
    return [...new Set(dead.map((name) => name.slice(0, name.indexOf("-"))))];
  }

  #livingOrForgotten(users: Folder, name: string): readonly Use[] {
    const use = this.#living(users, name);
    if (use !== undefined) return [use];
    forget(users, name);
    return [];
  }

  #living(users: Folder, name: string): Use | undefined {
    const bytes = readIfThere(users, name);
    const use = bytes === undefined ? undefined : parsed<Use>(bytes);
    return use !== undefined && this.#isAlive(use) ? use : undefined;
  }

  #isAlive({ owner, keeper: anchor }: Use): boolean {
    return this.#owners.isAlive(owner) || (anchor !== undefined && isProcessAlive(anchor));
  }

  /** Refuses if a command runs in the plan. */
  assertNone(plan: PlanRecord): void {
    const [use] = this.living(plan.id);
    if (use !== undefined) throw inUse(plan, use);
  }

  /** Refuses if a command runs in the plan that is not detached. Needs no claim. */
  assertOnlyDetached(plan: PlanRecord): void {
    const use = this.#seen(plan.id).find(({ detached }) => detached === undefined);
    if (use !== undefined) throw inUse(plan, use);
  }

  /** Counts a new command as inside from now on. */
  begin(planId: string, facts: Pick<Use, "command" | "strict" | "policy" | "detached">): OwnUse {
    const { owner, release } = this.#owners.enter();
    const use: Use = { id: newId(), ...facts, owner };
    const name = `${planId}-${use.id}`;
    const write = (record: Use) => this.#within((users) => save(users, name, record));
    try {
      write(use);
    } catch (thrown) {
      release();
      throw thrown;
    }
    return {
      id: use.id,
      started: (anchor) => {
        if (anchor !== undefined) write({ ...use, keeper: identityOf(anchor, use.command) });
      },
      end: () => {
        try {
          this.#within((users) => forget(users, name));
        } finally {
          release();
        }
      },
    };
  }

  #within(action: (users: Folder) => void): void {
    using users = this.#folders.uses();
    action(users);
  }
}

/** The error for a plan in which a command runs. `why` goes on in the sentence. */
export function inUse({ name }: PlanRecord, { command, owner, detached }: Use, why?: string): BusyError {
  const how = detached === undefined ? "is running" : "is running detached";
  const running = `'${command}' ${how} in the plan ${name} (pid ${owner.pid})`;
  return new BusyError(why === undefined ? `${running}.` : `${running}, ${why}.`, {
    holder: `${command} (pid ${owner.pid} on ${owner.host})`,
    hint:
      detached === undefined
        ? `Wait until it has ended, or stop it with 'kill ${owner.pid}'.`
        : `Attach to it, or stop it with 'kill ${owner.pid}'. A cancel by force ends it with its plan.`,
  });
}

function save(users: Folder, name: string, use: Use): void {
  writeWhole(POINTS.write, users, name, Buffer.from(JSON.stringify(use)));
}

/** Undefined if the file is gone: all plans share the folder, so other processes remove files meanwhile. */
function readIfThere(users: Folder, name: string): Buffer | undefined {
  let bytes: Buffer | undefined;
  unlessGone(() => {
    bytes = readWhole(users, name);
  });
  return bytes;
}

function forget(users: Folder, name: string): void {
  unlessGone(() => users.removeFile(POINTS.forget, name));
}
