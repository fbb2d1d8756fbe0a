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
 * # Where the databases of a plan are worked on
 *
 * One folder in the state directory for all databases of a plan that are in one folder, because that is what
 * commands see:
 * - `own/NAME`: the copy of each, under the name of the original, with the files that SQLite keeps beside it;
 * - `hidden/`: nothing but whiteouts, for the names of the originals and of what SQLite keeps beside these;
 * - `work/`: what an overlay needs, there once a command was run inside;
 * - `users/ID`: the sandboxes that it is for. It goes with the last of them.
 *
 * A command sees the originals' folder, under `hidden/`, under `own/`. So what programs do to the originals
 * meanwhile, their logs above all, never shows; and a program inside may remove a database and make it anew.
 * What else it leaves in that folder never lands.
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

/** What SQLite keeps beside a database while it is in use. */
const SUFFIXES = ["-journal", "-wal", "-shm"] as const;

/** A database and everything beside it that belongs to it. */
export function filesOf(database: string): string[] {
  return [database, ...SUFFIXES.map((suffix) => `${database}${suffix}`)];
}

/** Where the databases of a plan in this folder are worked on. */
export function viewPlace(stateDir: string, planId: string, folder: string): string {
  const digest = digestOf(bytesFromPath(folder)).slice(0, 16);
  return `${stateDir}/sandboxes/${planId}-view-${digest}`;
}

export class SqliteView {
  readonly #path: string;
  readonly #user: string;
  readonly #name: string;
  readonly #location: string;

  constructor({ sandboxId, metadata }: SandboxRef) {
    this.#path = String(metadata["view"]);
    this.#user = sandboxId;
    this.#name = String(metadata["only"]);
    this.#location = String(metadata["location"]);
  }

  /** Where programs find the copy. */
  get path(): string {
    return `${this.#path}/${OWN}/${this.#name}`;
  }

  /** A command that runs inside. */
  inside(): { readonly pid: number; readonly command: string } | undefined {
    using view = openWorkspace(this.#path);
    return view?.facts(WORK) === undefined ? undefined : liveMounts(this.#source)[0];
  }

  /** The folder of the copies, as it is. */
  openOwn(): Folder | undefined {
    using view = openWorkspace(this.#path);
    return view?.openBelowIfThere(OWN);
  }

  /** The folder of the copies, without the one of this sandbox. */
  makeOwn(stateDir: string): Folder {
    using homes = openHomes(stateDir);
    using view = homes.ensureFolder(POINTS.make, baseName(this.#path));
    using users = view.ensureFolder(POINTS.make, USERS);
    if (users.facts(this.#user) === undefined) writeWhole(POINTS.use, users, this.#user, Buffer.alloc(0));
    const own = view.ensureFolder(POINTS.make, OWN);
    for (const file of filesOf(this.#name)) removeTree(POINTS.clear, own, file);
    return own;
  }

  /** What a command is to see. */
  show(): ProgramView {
    const lower = parentPath(this.#location) || "/";
    // No folder can be laid over one that it is in.
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

  /** Removes what is of this sandbox, and everything if it was the last. */
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
    {
      hint: "Make the plan with a state directory elsewhere (--state-dir), or work on it with 'drydock plan sql' or by 'drydock plan path'.",
    },
  );
}

function hide(hidden: Folder, name: string): void {
  if (hidden.facts(name) === undefined) hidden.createWhiteout(POINTS.hide, name);
}
