import { SandboxStateError } from "../../core/errors/errors.ts";
import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import type { PlainRecord } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { StrategyContext } from "../../core/strategy.ts";
import type { ClonePlace } from "../../database/server/clone/clone-server.ts";
import type { ServerLogin } from "../../database/server/server-database.ts";
import { parseServerUrl } from "../../database/server/server-url.ts";
import { dropCheckpoints } from "../../engine/checkpoint/tree-checkpoints.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { currentBootId } from "../../system/process/process-identity.ts";
import type { Clone, CloneDialect } from "./clone.ts";

/**
 * # A sandbox of a database on a server, in its workspace
 *
 * - `server/`: the server of the clone (database/server/clone/clone-server.ts). Its socket is in a folder of
 *   the state directory with a short name.
 * - `made`: written last, when base and clone exist. Without it there is only the rest of a failed creation.
 * - `stale`: written when the work has landed. Everything is made anew before the next use.
 * - `kept-out`: while it is there, clients may not be let in: what was compared is what the clone holds.
 * - `landings/`: see clone-landings.ts.
 */
const POINTS = {
  folder: failpoint("clone.make-folder"),
  made: failpoint("clone.made"),
  stale: failpoint("clone.mark-stale"),
  fresh: failpoint("clone.mark-fresh"),
  keepOut: failpoint("clone.keep-out"),
  remove: failpoint("clone.remove-server"),
  sockets: failpoint("clone.remove-sockets"),
};
const SERVER = "server";
const MADE = "made";
const STALE = "stale";
const KEPT_OUT = "kept-out";
/** How long to wait for a connection to the original, and for locks of other sessions. */
export const PATIENCE_MS = 10_000;

interface Made {
  readonly bootId: string;
  /** What the clone has to remember. */
  readonly facts: PlainRecord;
}

/** What every reference says of its clone. */
export interface CloneReference {
  readonly location: string;
  readonly sockets: string;
}

export function cloneReference({ metadata }: SandboxRef): CloneReference {
  return { location: String(metadata["location"]), sockets: String(metadata["sockets"]) };
}

export class CloneSandbox {
  readonly workspace: Folder;
  readonly ref: SandboxRef;
  readonly dialect: CloneDialect;
  readonly location: string;
  readonly #context: StrategyContext;

  constructor(dialect: CloneDialect, context: StrategyContext, workspace: Folder, ref: SandboxRef) {
    this.workspace = workspace;
    this.ref = ref;
    this.dialect = dialect;
    this.location = cloneReference(ref).location;
    this.#context = context;
  }

  get isFinished(): boolean {
    return this.#made() !== undefined;
  }

  get isStale(): boolean {
    return this.workspace.facts(STALE) !== undefined;
  }

  get isFromEarlierBoot(): boolean {
    return this.#made()?.bootId !== currentBootId();
  }

  /** How to log in to the original. */
  get login(): ServerLogin {
    const { planId, resourceId } = this.ref;
    const secret = this.#context.secretsOf?.(planId)[resourceId];
    return { location: this.location, secret, patienceMs: PATIENCE_MS };
  }

  /**
   * Makes the clone from the original as it is now. Removes earlier work, or the rest of an earlier try,
   * first.
   */
  async make(): Promise<void> {
    await this.removeServer();
    dropCheckpoints(this.workspace);
    this.workspace.ensureFolder(POINTS.folder, SERVER).close();
    this.#makeSockets();
    const clone = await this.clone();
    this.#writeKeptOut();
    const facts = await clone.make(this.login, (task) => this.#context.progress({ task, done: 0 }));
    const made = { bootId: currentBootId(), facts } satisfies Made;
    writeWhole(POINTS.made, this.workspace, MADE, Buffer.from(JSON.stringify(made)));
    this.markFresh();
  }

  async clone(): Promise<Clone> {
    const { user, database } = parseServerUrl(this.location);
    return await this.dialect.open({
      place: this.#place,
      user,
      database,
      ref: this.ref,
      facts: () => this.#known().facts,
      signal: this.#context.signal,
    });
  }

  /** The clone, open for clients. */
  async cloneForClients(): Promise<Clone> {
    const clone = await this.clone();
    if (this.workspace.facts(KEPT_OUT) === undefined) await clone.start();
    else {
      await clone.letIn();
      this.workspace.removeFile(POINTS.keepOut, KEPT_OUT);
    }
    return clone;
  }

  /** Lets no client in, until one asks for the clone again. Fails while one is there. */
  async keepOut(clone: Clone): Promise<void> {
    this.#writeKeptOut();
    await clone.keepOut();
  }

  markStale(): void {
    if (!this.isStale) writeWhole(POINTS.stale, this.workspace, STALE, Buffer.alloc(0));
  }

  markFresh(): void {
    if (this.isStale) this.workspace.removeFile(POINTS.fresh, STALE);
  }

  /** Ends the server and removes what it has. */
  async removeServer(): Promise<void> {
    await this.dialect.end(this.#place.folder);
    if (this.workspace.facts(MADE) !== undefined) this.workspace.removeFile(POINTS.remove, MADE);
    removeTree(POINTS.remove, this.workspace, SERVER);
  }

  [Symbol.dispose](): void {
    this.workspace.close();
  }

  get #place(): ClonePlace {
    return { folder: serverFolder(this.workspace.path), sockets: cloneReference(this.ref).sockets };
  }

  #writeKeptOut(): void {
    writeWhole(POINTS.keepOut, this.workspace, KEPT_OUT, Buffer.alloc(0));
  }

  #makeSockets(): void {
    const { sockets } = cloneReference(this.ref);
    using state = Folder.open(this.#context.stateDir);
    using all = state.ensureFolder(POINTS.folder, baseName(parentPath(sockets)));
    all.ensureFolder(POINTS.folder, baseName(sockets)).close();
  }

  #made(): Made | undefined {
    const file = readWhole(this.workspace, MADE);
    return file === undefined ? undefined : parsed<Made>(file);
  }

  #known(): Made {
    const made = this.#made();
    if (made !== undefined) return made;
    throw new SandboxStateError(`The clone of ${this.location} is not complete.`, {
      from: "ACTIVE",
      to: "ACTIVE",
      hint: "Cancel the plan and make a new one.",
    });
  }
}

/** The folder of the server in a workspace. */
export function serverFolder(workspace: string): string {
  return `${workspace}/${SERVER}`;
}

/** Removes the folder of a clone's socket, with the last of them the folder of all. */
export function removeSockets(stateDir: string, { sockets }: CloneReference): void {
  using state = Folder.open(stateDir);
  const name = baseName(parentPath(sockets));
  using all = state.openBelowIfThere(name);
  if (all === undefined) return;
  removeTree(POINTS.sockets, all, baseName(sockets));
  unlessFailed(["ENOTEMPTY", "EEXIST", "ENOENT"], () => state.removeFolder(POINTS.sockets, name));
}
