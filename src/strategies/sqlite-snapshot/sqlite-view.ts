import { UnsupportedError } from "../../core/errors/errors.ts";
import { baseName, bytesFromPath, displayPath, isAtOrBelow, parentPath } from "../../core/paths/byte-path.ts";
import type { ProgramView } from "../../core/program-view.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { openHomes, openWorkspace } from "../../engine/workspace/workspace.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { digestOf } from "../../system/data/digest.ts";
import { writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { liveMounts } from "../../system/mount/live-mounts.ts";

/**
 * # The folder in which programs work on the databases of a plan
 *
 * The databases of a plan that are in one folder share one folder in the state directory, because commands
 * see them in one folder:
 *
 * - `own/NAME`: the copy of each database, under the name of the original, with the files that SQLite keeps
 *   beside it;
 * - `hidden/`: whiteouts only, for the names of the originals and of the files that SQLite keeps beside them;
 * - `work/`: the work folder of an overlay, made for the first command;
 * - `users/ID`: the sandboxes that use the folder. The last one removes it.
 *
 * A command sees three layers: `own/` over `hidden/` over the folder of the originals. So it never sees what
 * other programs do to the originals meanwhile, nor their logs, and it may remove a database and make it
 * again. Other files that it leaves in that folder never land.
 */
const POINTS = {
  make: failpoint("sqlite.view-make"),
  use: failpoint("sqlite.view-use"),
  hide: failpoint("sqlite.view-hide"),
  work: failpoint("sqlite.view-work"),
  clear: failpoint("sqlite.view-clear"),
  remove: failpoint("sqlite.view-remove"),
};
const OWN = "own";
const HIDDEN = "hidden";
const WORK = "work";
const USERS = "users";

/** The files that SQLite keeps beside a database that is in use. */
const SUFFIXES = ["-journal", "-wal", "-shm"] as const;

/** A database and the files that belong to it. */
export function filesOf(database: string): string[] {
  return [database, ...SUFFIXES.map((suffix) => `${database}${suffix}`)];
}

/** The folder in which programs work on the databases of this folder. */
export function viewFolder(stateDir: string, planId: string, folder: string): string {
  const digest = digestOf(bytesFromPath(folder)).slice(0, 16);
  return `${stateDir}/sandboxes/${planId}-view-${digest}`;
}

/** The reference to a sandbox of a SQLite database, decoded. */
export interface SqliteReference {
  readonly sandboxId: string;
  /** The path of the original. */
  readonly location: string;
  /** The name of the database in its folder. */
  readonly name: string;
  /** The folder in which programs find the copy. */
  readonly view: string;
}

export function decodeReference({ sandboxId, metadata }: SandboxRef): SqliteReference {
  const { location, only, view } = metadata;
  return { sandboxId, location: String(location), name: String(only), view: String(view) };
}

export class SqliteView {
  readonly #path: string;
  readonly #user: string;
  readonly #name: string;
  readonly #location: string;

  constructor({ sandboxId, view, name, location }: SqliteReference) {
    this.#path = view;
    this.#user = sandboxId;
    this.#name = name;
    this.#location = location;
  }

  /** The path at which programs find the copy. */
  get path(): string {
    return `${this.#path}/${OWN}/${this.#name}`;
  }

  /** A command that runs in the view, if there is one. */
  inside(): { readonly pid: number; readonly command: string } | undefined {
    using view = openWorkspace(this.#path);
    return view?.facts(WORK) === undefined ? undefined : liveMounts(this.#source)[0];
  }

  /** The folder of the copies; undefined if it does not exist. */
  openOwn(): Folder | undefined {
    using view = openWorkspace(this.#path);
    return view?.openBelowIfThere(OWN);
  }

  /** Makes the folder of the copies, and removes the copy of this sandbox from it. */
  makeOwn(stateDir: string): Folder {
    using homes = openHomes(stateDir);
    using view = homes.ensureFolder(POINTS.make, baseName(this.#path));
    using users = view.ensureFolder(POINTS.make, USERS);
    if (users.facts(this.#user) === undefined) writeWhole(POINTS.use, users, this.#user, Buffer.alloc(0));
    const own = view.ensureFolder(POINTS.make, OWN);
    for (const file of filesOf(this.#name)) removeTree(POINTS.clear, own, file);
    return own;
  }

  /** The layers that a command sees. */
  show(): ProgramView {
    const lower = parentPath(this.#location) || "/";
    // An overlay can't have a layer inside of another one.
    if (isAtOrBelow(this.#path, lower)) throw holdsState(this.#location, lower, this.#path);
    using view = openWorkspace(this.#path);
    if (view !== undefined) this.#makeLayers(view);
    return {
      kind: "layers",
      lower,
      hidden: `${this.#path}/${HIDDEN}`,
      upper: `${this.#path}/${OWN}`,
      work: `${this.#path}/${WORK}`,
      source: this.#source,
      only: this.#name,
    };
  }

  #makeLayers(view: Folder): void {
    using hidden = view.ensureFolder(POINTS.hide, HIDDEN);
    for (const name of filesOf(this.#name)) hide(hidden, name);
    if (this.inside() === undefined) removeTree(POINTS.work, view, WORK);
    view.ensureFolder(POINTS.work, WORK).close();
  }

  /** Removes the files of this sandbox, and the whole folder after the last one. */
  remove(stateDir: string): void {
    using homes = openHomes(stateDir);
    using view = homes.openBelowIfThere(baseName(this.#path));
    if (view === undefined) return;
    for (const folder of [OWN, HIDDEN]) {
      using layer = view.openBelowIfThere(folder);
      if (layer !== undefined) for (const file of filesOf(this.#name)) removeTree(POINTS.remove, layer, file);
    }
    using users = view.openBelowIfThere(USERS);
    if (users !== undefined) removeTree(POINTS.remove, users, this.#user);
    if ((users?.names() ?? []).length === 0) removeTree(POINTS.remove, homes, baseName(this.#path));
  }

  get #source(): string {
    return `drydock-${baseName(this.#path)}`;
  }
}

function holdsState(location: string, folder: string, view: string): UnsupportedError {
  const stateDir = parentPath(parentPath(view));
  return new UnsupportedError(
    `No command can be run on ${displayPath(location)}: its folder ${displayPath(folder)} contains Drydock's state directory ${displayPath(stateDir)}.`,
    { code: "HOLDS_STATE" },
  );
}

function hide(hidden: Folder, name: string): void {
  if (hidden.facts(name) === undefined) hidden.createWhiteout(POINTS.hide, name);
}
