import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, statSync, utimesSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { StrategyContext } from "../../src/core/strategy.ts";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import { openSqliteStore } from "../../src/store/sqlite-store.ts";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";
import { mountsBelow } from "../../src/system/mount/mount-table.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { buildMovedTree, changeMovedTree } from "../support/moved-tree.ts";
import { OneWayOverlay } from "../support/one-way-overlay.ts";
import { buildRichTree, changeRichTree } from "../support/rich-tree.ts";
import {
  buildDatabase,
  changeDatabase,
  type SampleDatabase,
  snapshotDatabase,
} from "../support/sample-database.ts";
import {
  buildInPlace,
  buildRepository,
  changeCheckout,
  changeInPlace,
  changeRepository,
  snapshotRepository,
} from "../support/sample-repository.ts";
import { buildSmallTree, changeSmallTree } from "../support/small-tree.ts";
import { makeSubvolume, removeWithSubvolumes } from "../support/subvolumes.ts";
import { snapshotTree, type TreeSnapshot, treeDifferences } from "../support/tree-snapshot.ts";
import type { DriverRequest } from "./run-driver.ts";

/** Where a world puts its originals: each a folder of its own in one of these, or a whole mount. */
export interface WorldOptions {
  /** Of all originals, or of each, in turn. */
  readonly strategy: string | readonly string[];
  /** The ways in which `overlay_in_one_way` may mount. */
  readonly ways?: readonly OverlayWay[];
  /** Only small trees, instead of a rich one among them. */
  readonly isSmall?: boolean;
  /** Trees in which folders are moved. */
  readonly isMoved?: boolean;
  /** Folders on the file systems of the originals, one for each original. Default: two where it is fast. */
  readonly places?: readonly OriginalPlace[];
  /** Where the state directory goes. Default: where it is fast. */
  readonly statePlace?: string;
}

export interface OriginalPlace {
  readonly folder: string;
  /** The folder itself is the original, as with a mount; it must be empty. Default: a new folder in it is. */
  readonly isOriginal?: boolean;
  /** The original is in the lower layer of an overlay, like a folder of a container's image. */
  readonly isLower?: boolean;
  /** The original is a subvolume of btrfs. */
  readonly isSubvolume?: boolean;
  /** The original is a git checkout in which its user is at work. */
  readonly isCheckout?: boolean;
  /** The plan works in the checkout at its own path, so that it lands as if it had been done there. */
  readonly isInPlace?: boolean;
  /** The original is a SQLite database, not a folder. */
  readonly database?: SampleDatabase;
  /** The folder around the original has a default ACL, which everything new in it inherits. */
  readonly hasDefaultAcl?: boolean;
}

export const PLAN = "crash";
const OWN_NAME = /^\.drydock-/;
const KNOWN_FOLDERS = ["sandboxes", "owners", "restored", "runs"];

interface Original {
  readonly location: string;
  readonly build: (root: string) => void;
  readonly change: (root: string) => void;
  /** The same without Drydock, if that is done differently in the original itself. */
  readonly changeDirectly?: (root: string) => void;
  /** What it looks like, there or in a sandbox. */
  readonly snapshot: (root: string) => TreeSnapshot;
  /** More work, by writing to the sandbox, and the path of the change that it is. */
  readonly later: { readonly path: string; readonly text: string; readonly change: string };
}

const LATER_FILE = { path: "later/work", text: "later\n", change: "later/work" };
const LATER_TABLE = { path: "later.sql", text: "CREATE TABLE later(a)", change: "later" };

type BuildAndChange = readonly [build: (root: string) => void, change: (root: string) => void];

function treeFor({ isMoved, isSmall }: WorldOptions, index: number): BuildAndChange {
  if (isMoved === true) return [buildMovedTree, changeMovedTree];
  const isRich = index === 0 && isSmall !== true;
  return isRich ? [buildRichTree, changeRichTree] : [buildSmallTree, changeSmallTree];
}

/** Some originals and a state directory, with what the originals look like before and after the plan. */
export class World {
  readonly stateDir: string;
  readonly originals: readonly Original[];
  readonly #options: WorldOptions;
  readonly #made: string[] = [];
  readonly #overlays: string[] = [];

  constructor(options: WorldOptions) {
    this.#options = options;
    this.stateDir = join(this.#folderIn(options.statePlace ?? fastFolder()), "state");
    const places = options.places ?? [{ folder: fastFolder() }, { folder: fastFolder() }];
    this.originals = places.map(({ folder, isOriginal, database, isCheckout, isInPlace }, index) => {
      if (database !== undefined) return databaseIn(this.#folderIn(folder), database);
      if (isCheckout === true) return checkoutIn(this.#folderIn(folder), isInPlace === true);
      const [build, change] = treeFor(options, index);
      const location = isOriginal === true ? folder : join(this.#folderIn(folder), `original-${index}`);
      return { location, build, change, snapshot: snapshotFolder, later: LATER_FILE };
    });
    for (const [index, { location, build }] of this.originals.entries()) {
      if (places[index]?.isSubvolume === true) makeSubvolume(location);
      else if (places[index]?.database === undefined) mkdirSync(location, { recursive: true });
      build(location);
      if (places[index]?.isLower === true) this.#sink(dirname(location));
      if (places[index]?.hasDefaultAcl === true)
        spawnSync("setfacl", ["-d", "-m", "u:12345:rwx", dirname(location)]);
    }
  }

  /** Makes all that is in a folder the lower layer of an overlay at the same path. */
  #sink(folder: string): void {
    const [upper, work] = ["upper", "work"].map((name) => join(this.#folderIn(dirname(folder)), name));
    for (const layer of [upper, work]) mkdirSync(layer ?? "");
    const layers = `lowerdir=${folder},upperdir=${upper},workdir=${work}`;
    const { status, stderr } = spawnSync("mount", ["-t", "overlay", "drydock-test", "-o", layers, folder]);
    assert.equal(status, 0, String(stderr));
    this.#overlays.push(folder);
  }

  #folderIn(place: string): string {
    const made = mkdtempSync(join(place, "drydock-crash-"));
    this.#made.push(made);
    return made;
  }

  request(operation: DriverRequest["operation"]): DriverRequest {
    const written = { resource: "r1", path: "folder/written/file" };
    const { ways } = this.#options;
    // A scenario may have put one there.
    const config = join(this.stateDir, "../drydock.yaml");
    const request = {
      operation,
      stateDir: this.stateDir,
      plan: PLAN,
      resources: this.resources(),
      ...written,
    };
    return { ...request, ...(ways !== undefined && { ways }), ...(existsSync(config) && { config }) };
  }

  resources() {
    const { strategy } = this.#options;
    const strategies = typeof strategy === "string" ? [strategy] : strategy;
    return this.originals.map(({ location }, index) => ({
      location,
      name: `r${index}`,
      strategy: strategies[index % strategies.length] as string,
    }));
  }

  /** Opens the state, which recovers; whatever happens, closes it again. */
  async with<T>(action: (drydock: Services) => Promise<T>): Promise<T> {
    const { ways } = this.#options;
    const strategies =
      ways === undefined ? [] : [(context: StrategyContext) => new OneWayOverlay(context, ways)];
    const drydock = await openServices({ stateDir: this.stateDir, cwd: "/", environment: {}, strategies });
    try {
      return await action(drydock);
    } finally {
      await drydock.close();
    }
  }

  /** Makes the plan and does its work; returns what the diff says. */
  async plan(): Promise<string> {
    return await this.with(async ({ plans }) => {
      await plans.create({ name: PLAN, resources: this.resources() });
      await this.work(plans);
      return (await plans.diff(PLAN)).digest;
    });
  }

  async work(plans: Services["plans"]): Promise<void> {
    for (const [index, { change }] of this.originals.entries()) change(await plans.path(PLAN, `r${index}`));
  }

  snapshots(): TreeSnapshot[] {
    return this.originals.map(({ location, snapshot }) => snapshot(location));
  }

  /**
   * On which side the originals are, all of them. Fails if one is on neither, or they are not on the same.
   */
  side(expected: Sides, when: string): "old" | "new" {
    const sides = this.snapshots().map((snapshot, index) => sideOf(snapshot, index, expected, when));
    assert.equal(
      new Set(sides).size,
      1,
      `${when}: the originals are not on the same side: ${sides.join(", ")}`,
    );
    return sides[0] as "old" | "new";
  }

  /**
   * Everything of ours that is in the world, as paths: in the state directory, beside the originals, inside
   * them.
   */
  leftovers(): string[] {
    const inState = existsSync(this.stateDir)
      ? readdirSync(this.stateDir).flatMap((name) => {
          if (/^(?:drydock\.db(?:-wal|-shm)?|identity\.json|reserve|overlay-ways(?:\.new)?)$/.test(name))
            return [];
          if (!KNOWN_FOLDERS.includes(name)) return [`state/${name}`];
          return readdirSync(join(this.stateDir, name)).flatMap((inner) => this.#homeLeftovers(name, inner));
        })
      : [];
    const places = this.originals.flatMap(({ location }) =>
      statSync(location).isDirectory() ? [location, dirname(location)] : [dirname(location)],
    );
    const elsewhere = places.flatMap((place) =>
      readdirSync(place)
        .filter((name) => OWN_NAME.test(name))
        .flatMap((name) =>
          readdirSync(join(place, name))
            .map((inner) => `workspace/${inner}`)
            .concat("workspace"),
        ),
    );
    return [...inState, ...elsewhere, ...this.#mounts().map(() => "mount")];
  }

  /** What is mounted in the folders of this world; the mounts that are originals are not. */
  #mounts(): string[] {
    const places = [...this.#made, ...this.originals.map(({ location }) => location)];
    return mountsBelow("/").filter(
      (point) => places.some((place) => point.startsWith(`${place}/`)) && !this.#overlays.includes(point),
    );
  }

  #homeLeftovers(name: string, inner: string): string[] {
    if (name === "owners") return ["owner"];
    if (name === "restored") return ["restored"];
    return ["home", ...readdirSync(join(this.stateDir, name, inner)).map((file) => `home/${file}`)];
  }

  /** What the store still believes to exist. */
  async openRecords(): Promise<string[]> {
    const store = await openSqliteStore({ stateDir: this.stateDir });
    try {
      const live = new Set((await store.liveSandboxes()).map(({ ref }) => ref.sandboxId));
      const intents = await store.intents();
      // What an undo record needs is known as long as it is there, with all places of its sandbox.
      const kept = new Set(
        intents.filter(({ location }) => existsSync(location)).map(({ sandboxId }) => sandboxId),
      );
      const orphans = intents.filter(({ sandboxId }) => !live.has(sandboxId) && !kept.has(sandboxId));
      return [
        ...(await store.unfinishedTransactions()).map(({ phase }) => `transaction ${phase}`),
        ...orphans.map(({ location }) => `intent for ${location}`),
      ];
    } finally {
      store.close();
    }
  }

  /** As if a minute had passed: a lock that was never claimed with is only then known to be nobody's. */
  ageLocks(): void {
    const owners = join(this.stateDir, "owners");
    if (!existsSync(owners)) return;
    for (const name of readdirSync(owners)) utimesSync(join(owners, name), 0, 0);
  }

  remove(): void {
    for (const point of [...this.#mounts(), ...this.#overlays]) spawnSync("umount", ["--lazy", point]);
    for (const { location } of this.originals.filter(
      ({ location }) => !this.#made.includes(dirname(location)),
    ))
      for (const name of readdirSync(location)) removeWithSubvolumes(join(location, name));
    if (process.geteuid?.() !== 0) spawnSync("chmod", ["-R", "u+rwx", ...this.#made]);
    for (const folder of this.#made) removeWithSubvolumes(folder);
  }
}

function snapshotFolder(root: string): TreeSnapshot {
  return snapshotTree(root, { ignore: (path) => OWN_NAME.test(basename(path)) });
}

function checkoutIn(folder: string, isInPlace: boolean): Original {
  return {
    location: join(folder, "checkout"),
    ...(isInPlace
      ? { build: buildInPlace, change: changeInPlace }
      : { build: buildRepository, change: changeRepository, changeDirectly: changeCheckout }),
    snapshot: snapshotRepository,
    later: LATER_FILE,
  };
}

function databaseIn(folder: string, database: SampleDatabase): Original {
  return {
    location: join(folder, "original.db"),
    build: (path) => buildDatabase(path, database),
    change: (path) => changeDatabase(path, database),
    snapshot: snapshotDatabase,
    later: LATER_TABLE,
  };
}

function sideOf(
  snapshot: TreeSnapshot,
  index: number,
  { before, after }: Sides,
  when: string,
): "old" | "new" {
  const fromOld = treeDifferences(snapshot, before[index] ?? new Map());
  if (fromOld.length === 0) return "old";
  const fromNew = treeDifferences(snapshot, after[index] ?? new Map());
  if (fromNew.length === 0) return "new";
  const [side, differences] = fromOld.length < fromNew.length ? ["old", fromOld] : ["new", fromNew];
  return assert.fail(
    `${when}: original ${index} is neither old nor new. From ${side}:\n${String(differences)}`,
  );
}

/** What every original looks like before the plan and after it. */
export interface Sides {
  readonly before: readonly TreeSnapshot[];
  readonly after: readonly TreeSnapshot[];
}

/** Finds out with plain folders, without Drydock: the same trees, the same changes. */
export function sidesOf(options: WorldOptions): Sides {
  const plain = options.places?.map((place) => ({ ...place, isLower: false }));
  const world = new World({ ...options, ...(plain !== undefined && { places: plain }) });
  try {
    const before = world.snapshots();
    for (const { location, change, changeDirectly = change } of world.originals) changeDirectly(location);
    return { before, after: world.snapshots() };
  } finally {
    world.remove();
  }
}
