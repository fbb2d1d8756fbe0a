import type { Owner } from "../../core/owner.ts";
import type { ServerSession, TransactionName } from "../../database/server/server-database.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { failedWith, unlessFailed } from "../../system/calls/errno.ts";
import { Folder } from "../../system/calls/folder.ts";
import { readTextFile } from "../../system/data/text-files.ts";
import { type Durability, parsed, writeWhole } from "../../system/data/whole-file.ts";
import { type Failpoint, failpoint } from "../../system/failpoints.ts";
import { whileLocked } from "../../system/state/lock.ts";

/**
 * `keepers/PLAN/` in the state directory, 0700. The names on disk are those of 0.1.0, whose open plans go on:
 * - `keeper.json`: which process holds the plan's transactions. The holder writes it when it listens; its
 *   socket is `ID.sock`, and `key` is what callers begin with there. Where there are no namespaces, a command
 *   of a plan can connect to any socket here, and read no file. It is not flushed: no holder outlives a
 *   restart.
 * - `RESOURCE.json`: the state of the transaction of a resource. The client writes it durably, before each
 *   step after which the server could have a transaction that no record names.
 * - `pg/`: where clients of the server's own protocol come in; commands of the plan see this
 *   folder, and none of the rest.
 * - `RESOURCE.ended`: why the holder ended a transaction by itself.
 */
interface HolderFile {
  readonly holderId: string;
  readonly owner: Owner;
  /** Absent if the holder is of a version that had none. */
  readonly key?: string;
}

/**
 * - `opening`: the sandbox is being made.
 * - `open`: the holder has the transaction. If that process is gone, so is the work.
 * - `preparing`: it is prepared, or about to be, or about to be ended by recovery.
 * - `landed`: it is committed; the next use of the sandbox opens a new one.
 * - `lost`: the work is gone, for the reason in `why`.
 */
export interface RemoteRecord {
  readonly state: "opening" | "open" | "preparing" | "landed" | "lost";
  readonly name?: TransactionName;
  readonly session?: ServerSession;
  /** The commit that prepared or landed the transaction. */
  readonly transactionId?: string;
  /** The marker on the server, to be removed when its outcome is not needed any more. */
  readonly marker?: string;
  readonly why?: string;
  /** The transaction may have landed. */
  readonly inDoubt?: true;
}

const POINTS = {
  make: failpoint("holder.make-folder"),
  record: failpoint("holder.record"),
  remove: failpoint("holder.remove-record"),
  removeFolder: failpoint("holder.remove-folder"),
  listening: failpoint("holder.listening"),
  ended: failpoint("holder.ended"),
};
const LARGEST = 1 << 20;
const FOLDER = "keepers";
const FILE = "keeper.json";
const CLIENT_FOLDER = "pg";
const MOST_TRIES = 5;

/** The folder of a plan's holder. */
export class HolderFolder {
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
        using holders = state.ensureFolder(POINTS.make, FOLDER);
        holders.ensureFolder(POINTS.make, this.#planId).close();
        return;
      } catch (thrown) {
        // Another process may just have removed the folder of all plans, with the last plan in it.
        if (!failedWith(thrown, "ENOENT") || tries === MOST_TRIES) throw thrown;
      }
    }
  }

  /** Makes the folder of sockets for clients of the server's own protocol. Called by the holder. */
  makeClientFolder(): string {
    using folder = Folder.open(this.path);
    folder.ensureFolder(POINTS.make, CLIENT_FOLDER).close();
    return `${this.path}/${CLIENT_FOLDER}`;
  }

  holder(): HolderFile | undefined {
    const file = this.#read<Omit<HolderFile, "holderId"> & { readonly keeperId: string }>(FILE);
    if (file === undefined) return undefined;
    const { keeperId: holderId, ...rest } = file;
    return { holderId, ...rest };
  }

  /** Called by the holder. From here on clients find it. */
  announce({ holderId, ...rest }: HolderFile): void {
    this.#write(POINTS.listening, FILE, { keeperId: holderId, ...rest }, "buffered");
  }

  record(resourceId: string): RemoteRecord | undefined {
    return this.#read<RemoteRecord>(`${resourceId}.json`);
  }

  save(resourceId: string, record: RemoteRecord): void {
    this.#write(POINTS.record, `${resourceId}.json`, record);
  }

  whyEnded(resourceId: string): string | undefined {
    return this.#read<{ readonly why: string }>(`${resourceId}.ended`)?.why;
  }

  /** Called by the holder. */
  noteEnded(resourceId: string, why: string): void {
    this.#write(POINTS.ended, `${resourceId}.ended`, { why });
  }

  /** Removes the records of a resource; with those of the last one, the folder. */
  forget(resourceId: string): void {
    using state = Folder.open(this.#stateDir);
    using holders = state.openBelowIfThere(FOLDER);
    if (holders === undefined) return;
    const own = holders.openBelowIfThere(this.#planId);
    const isLast = own === undefined || removeRecord(own, resourceId);
    own?.close();
    if (!isLast) return;
    removeTree(POINTS.removeFolder, holders, this.#planId);
    removeIfEmpty(state);
  }

  #read<T>(name: string): T | undefined {
    const file = readTextFile(`${this.path}/${name}`, LARGEST);
    return file === undefined ? undefined : parsed<T>(file.bytes);
  }

  /** Writes under the lock of the folder, because a process may record a loss without the plan's claim. */
  #write(point: Failpoint, name: string, value: object, how: Durability = "durable"): void {
    using folder = Folder.open(this.path);
    whileLocked(folder, () => writeWhole(point, folder, name, Buffer.from(JSON.stringify(value)), how));
  }
}

/** Removes the records of a resource. True if only the holder's own file is left. */
function removeRecord(folder: Folder, resourceId: string): boolean {
  for (const name of [`${resourceId}.ended`, `${resourceId}.json`])
    if (folder.facts(name) !== undefined) folder.removeFile(POINTS.remove, name);
  return !folder.names().some((name) => name.endsWith(".json") && name !== FILE);
}

/** The folder stays while another plan has a holder. */
function removeIfEmpty(state: Folder): void {
  unlessFailed(["ENOTEMPTY", "EEXIST", "ENOENT"], () => state.removeFolder(POINTS.removeFolder, FOLDER));
}
