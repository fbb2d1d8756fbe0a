import type { Owner } from "../../core/owner.ts";
import type { ServerSession, TransactionName } from "../../database/server-database.ts";
import { removeTree } from "../../files/remove-tree.ts";
import { failedWith, unlessFailed } from "../../system/errno.ts";
import { type Failpoint, failpoint } from "../../system/failpoints.ts";
import { Folder } from "../../system/folder.ts";
import { whileLocked } from "../../system/lock.ts";
import { readTextFile } from "../../system/text-files.ts";
import { type Durability, parsed, writeWhole } from "../../system/whole-file.ts";

/**
 * `keepers/PLAN/` in the state directory, 0700:
 * - `keeper.json`: which keeper the plan has, written by itself when it listens; its socket is `KEEPER.sock`. Not flushed: no keeper outlives a restart.
 * - `RESOURCE.json`: what has become of the transaction of a resource. Written durably by who asks the keeper, before each step after which a
 *   transaction could be on the server that nobody would know of.
 * - `RESOURCE.ended`: why the keeper ended a transaction by itself.
 */
export interface KeeperFile {
  readonly keeperId: string;
  readonly owner: Owner;
}

/**
 * - `opening`: the sandbox is being made.
 * - `open`: the transaction is held by the keeper. If that is gone, so is the work.
 * - `preparing`: it is prepared, or about to be, or about to be settled.
 * - `landed`: it was committed; whoever uses the sandbox next opens a new one.
 * - `lost`: the work is gone, for the reason in `why`.
 */
export interface HeldRecord {
  readonly state: "opening" | "open" | "preparing" | "landed" | "lost";
  readonly name?: TransactionName;
  readonly session?: ServerSession;
  /** The commit that it was prepared for, or landed by. */
  readonly transactionId?: string;
  /** What has to be removed from the server when the outcome is no longer asked for. */
  readonly marker?: string;
  readonly why?: string;
  /** It may also have landed. */
  readonly inDoubt?: true;
}

const POINTS = {
  make: failpoint("keeper.make-folder"),
  record: failpoint("keeper.record"),
  remove: failpoint("keeper.remove-record"),
  removeFolder: failpoint("keeper.remove-folder"),
  listening: failpoint("keeper.listening"),
  ended: failpoint("keeper.ended"),
};
const LARGEST = 1 << 20;
const FOLDER = "keepers";
const MOST_TRIES = 5;

/** The folder of a plan's keeper. */
export class KeeperFolder {
  readonly path: string;
  readonly #stateDir: string;
  readonly #planId: string;

  constructor(stateDir: string, planId: string) {
    this.#stateDir = stateDir;
    this.#planId = planId;
    this.path = `${stateDir}/${FOLDER}/${planId}`;
  }

  make(): void {
    using state = Folder.open(this.#stateDir);
    for (let tries = 1; ; tries += 1) {
      try {
        using keepers = state.ensureFolder(POINTS.make, FOLDER);
        keepers.ensureFolder(POINTS.make, this.#planId).close();
        return;
      } catch (thrown) {
        // The last of the other plans may just have gone, and the folder of all with it.
        if (!failedWith(thrown, "ENOENT") || tries === MOST_TRIES) throw thrown;
      }
    }
  }

  keeper(): KeeperFile | undefined {
    return this.#read<KeeperFile>("keeper.json");
  }

  /** For the keeper itself: from here on it is found. */
  announce(keeper: KeeperFile): void {
    this.#write(POINTS.listening, "keeper.json", keeper, "buffered");
  }

  record(resourceId: string): HeldRecord | undefined {
    return this.#read<HeldRecord>(`${resourceId}.json`);
  }

  save(resourceId: string, record: HeldRecord): void {
    this.#write(POINTS.record, `${resourceId}.json`, record);
  }

  whyEnded(resourceId: string): string | undefined {
    return this.#read<{ readonly why: string }>(`${resourceId}.ended`)?.why;
  }

  /** For the keeper itself. */
  noteEnded(resourceId: string, why: string): void {
    this.#write(POINTS.ended, `${resourceId}.ended`, { why });
  }

  /** Removes what is kept of a resource; with the last one everything. */
  forget(resourceId: string): void {
    using state = Folder.open(this.#stateDir);
    using keepers = state.openBelowIfThere(FOLDER);
    if (keepers === undefined) return;
    const own = keepers.openBelowIfThere(this.#planId);
    const isLast = own === undefined || removeRecord(own, resourceId);
    own?.close();
    if (!isLast) return;
    removeTree(POINTS.removeFolder, keepers, this.#planId);
    removeIfEmpty(state);
  }

  #read<T>(name: string): T | undefined {
    const file = readTextFile(`${this.path}/${name}`, LARGEST);
    return file === undefined ? undefined : parsed<T>(file.bytes);
  }

  /** Under the lock of the folder: not all who find that a transaction is lost hold the plan's claim. */
  #write(point: Failpoint, name: string, value: object, how: Durability = "durable"): void {
    using folder = Folder.open(this.path);
    whileLocked(folder, () => writeWhole(point, folder, name, Buffer.from(JSON.stringify(value)), how));
  }
}

/** Whether nothing is left but what is the keeper's own. */
function removeRecord(folder: Folder, resourceId: string): boolean {
  for (const name of [`${resourceId}.ended`, `${resourceId}.json`])
    if (folder.facts(name) !== undefined) folder.removeFile(POINTS.remove, name);
  return !folder.names().some((name) => name.endsWith(".json") && name !== "keeper.json");
}

/** Another plan may have its keeper there. */
function removeIfEmpty(state: Folder): void {
  unlessFailed(["ENOTEMPTY", "EEXIST", "ENOENT"], () => state.removeFolder(POINTS.removeFolder, FOLDER));
}
