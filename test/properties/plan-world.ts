import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { makeSubvolume, removeWithSubvolumes } from "../support/subvolumes.ts";
import { TestRepository } from "../support/test-repository.ts";

/** What a resource holds: values by key, a file or a row each. */
export type Values = { readonly [key: string]: string };
/** All resources of a plan, by name. */
export type State = { readonly [resource: string]: Values };

export const KEYS = ["k0", "k1", "d/k2", "d/k3"] as const;
/** Keeps the folder there, so that each key is an entry of its own. */
const KEEP = "d/keep";

const STRATEGIES = {
  copy: "filesystem_copy",
  view: "overlay",
  repo: "git_worktree",
  data: "snapshot",
  clone: "copy_on_write",
  frozen: "snapshot",
} as const;
export type Name = keyof typeof STRATEGIES;
/** Those that are on the image of a file system, if there is one. */
const ON_IMAGE: readonly Name[] = ["clone", "frozen"];
/** Those of which a part can land, and into which a command can write. */
const FOLDERS: readonly Name[] = ["copy", "view", ...ON_IMAGE];

/**
 * A folder that is copied, one through an overlay, a git checkout and a SQLite database, and a plan over all
 * of them; where btrfs can be mounted also a folder whose files are cloned and a subvolume.
 */
export class PlanWorld {
  /** The name of the plan that is worked on. */
  plan = "";
  readonly names: readonly Name[];
  readonly #base = mkdtempSync(join(tmpdir(), "drydock-sequence-"));
  readonly #onImage: string | undefined;
  readonly stateDir = join(this.#base, "state");

  /** `image` is where a btrfs is mounted. */
  constructor(image: string | undefined) {
    this.#onImage = image === undefined ? undefined : mkdtempSync(join(image, "sequence-"));
    this.names = (Object.keys(STRATEGIES) as Name[]).filter(
      (name) => image !== undefined || !ON_IMAGE.includes(name),
    );
    for (const name of this.names) this.#build(name);
  }

  get folders(): readonly Name[] {
    return FOLDERS.filter((name) => this.names.includes(name));
  }

  location(name: Name): string {
    const base = ON_IMAGE.includes(name) ? (this.#onImage ?? this.#base) : this.#base;
    return join(base, name === "data" ? "data/file.db" : name);
  }

  resources() {
    return this.names.map((name) => ({ name, location: this.location(name), strategy: STRATEGIES[name] }));
  }

  /** Opens the state, which recovers. */
  async with<T>(action: (drydock: Services) => Promise<T>): Promise<T> {
    const drydock = await openServices({ stateDir: this.stateDir, cwd: "/", environment: {} });
    try {
      return await action(drydock);
    } finally {
      await drydock.close();
    }
  }

  /** What the originals hold. */
  originals(): State {
    return Object.fromEntries(this.names.map((name) => [name, valuesAt(name, this.location(name))]));
  }

  /** What the sandboxes of the plan hold. */
  async sandboxes({ plans }: Services): Promise<State> {
    const state: { [name: string]: Values } = {};
    for (const name of this.names) state[name] = valuesAt(name, await plans.path(this.plan, name));
    return state;
  }

  /** Sets a value in a sandbox, or removes it. */
  async set({ plans }: Services, name: Name, key: string, value: string | undefined): Promise<void> {
    if (name === "data") {
      const change =
        value === undefined
          ? `DELETE FROM t WHERE k = '${key}'`
          : `REPLACE INTO t VALUES ('${key}', '${value}')`;
      await plans.sql(this.plan, name, change);
      return;
    }
    const path = join(await plans.path(this.plan, name), key);
    if (value === undefined) rmSync(path, { force: true });
    else writeFileSync(path, value);
  }

  [Symbol.dispose](): void {
    removeFolder(this.#base);
    if (this.#onImage !== undefined) removeWithSubvolumes(this.#onImage);
  }

  #build(name: Name): void {
    const location = this.location(name);
    if (name === "data") {
      mkdirSync(dirname(location));
      using database = new DatabaseSync(location);
      database.exec("CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT)");
      for (const key of KEYS.slice(0, 2)) database.exec(`INSERT INTO t VALUES ('${key}', 'first ${key}')`);
      return;
    }
    if (name === "frozen") makeSubvolume(location);
    for (const key of [...KEYS.slice(1, 3), KEEP]) {
      mkdirSync(dirname(join(location, key)), { recursive: true });
      writeFileSync(join(location, key), `first ${key}`);
    }
    if (name !== "repo") return;
    const repository = new TestRepository(location);
    repository.git("init", "-q", "-b", "main");
    repository.commitAll("begin");
  }
}

function valuesAt(name: Name, path: string): Values {
  if (name === "data") {
    using database = new DatabaseSync(path, { readOnly: true });
    const rows = database.prepare("SELECT k, v FROM t ORDER BY k").all();
    return Object.fromEntries(rows.map(({ k, v }) => [String(k), String(v)]));
  }
  return Object.fromEntries(KEYS.flatMap((key) => valueAt(join(path, key)).map((value) => [key, value])));
}

function valueAt(path: string): string[] {
  try {
    return [readFileSync(path, "utf8")];
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw thrown;
  }
}
