import { messageOf } from "../../core/errors/errors.ts";
import { baseName, displayPath, parentPath } from "../../core/paths/byte-path.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { isThere } from "../../system/data/existence.ts";
import { realPathOf } from "../../system/data/locations.ts";
import { failpoint } from "../../system/failpoints.ts";
import { waitForLock } from "../../system/state/lock.ts";
import type { CachesInForce } from "../policy/cache-rules.ts";

/**
 * Caches that plans share, so that none downloads again what another one has. They are Drydock's own;
 * commands see them in the place of the user's, which stay as they are:
 *
 *   ~/.cache/drydock/caches      commands that see a cache share its lock; a prune holds it alone
 *     user/.cache%2Fpip          what commands of all plans see at ~/.cache/pip
 *     project-DIGEST/.npm        what commands of plans over the same resources see at ~/.npm
 *     measured                   its time is that of the last measuring
 *     gone-ID                    a cache that is being removed
 *
 * Programs find one folder there, with the locks and renames by which they keep two runs of themselves apart.
 */
const POINTS = { make: failpoint("run.cache-make") };
const OTHERS_CAN_WRITE = 0o022;

/** The caches of one command. While it runs, none of them is pruned. */
export class LockedCaches implements Disposable {
  readonly caches: CachesInForce;
  readonly #root: Folder | undefined;

  private constructor(caches: CachesInForce, root?: Folder) {
    this.caches = caches;
    this.#root = root;
  }

  /**
   * Makes the caches that are missing. Where they can't be, `onWithout` hears why, and the command does
   * without.
   */
  static take(caches: CachesInForce, onWithout: (message: string) => void): LockedCaches {
    if (caches.shared.length === 0) return new LockedCaches(caches);
    try {
      return new LockedCaches(caches, made(caches));
    } catch (thrown) {
      onWithout(`Caches are not shared with other plans: ${messageOf(thrown)}`);
      return new LockedCaches({ ...caches, shared: [] });
    }
  }

  /** Lets go of them, and brings them back under their limit. Returns a sentence for each one removed. */
  async end(): Promise<readonly string[]> {
    if (this.#root === undefined) return [];
    this.#root.close();
    const { pruneCaches } = await import("./prune-caches.ts");
    return pruneCaches(this.caches);
  }

  [Symbol.dispose](): void {
    this.#root?.close();
  }
}

function made({ root: path, shared }: CachesInForce): Folder {
  const root = ensured(path);
  try {
    assertOwn(root);
    waitForLock(root, "shared");
    for (const { stored, isFile } of shared) {
      using set = root.ensureFolder(POINTS.make, baseName(parentPath(stored)));
      const name = baseName(stored);
      if (!isFile) set.ensureFolder(POINTS.make, name).close();
      else unlessFailed(["EEXIST"], () => closeFile(set.createFile(POINTS.make, name, 0o600)));
    }
    return root;
  } catch (thrown) {
    root.close();
    throw thrown;
  }
}

/** What another user can write to is not safe to show to commands. */
function assertOwn(folder: Folder): void {
  const { uid, mode } = folder.ownFacts();
  if (uid !== process.geteuid?.() || (mode & OTHERS_CAN_WRITE) !== 0)
    throw new Error(`${displayPath(folder.path)} belongs to another user, or others can write to it`);
}

/** A folder, made if it is missing, with those above it. */
function ensured(path: string): Folder {
  if (isThere(path)) return Folder.open(realPathOf(path) ?? path);
  using parent = ensured(parentPath(path) || "/");
  return parent.ensureFolder(POINTS.make, baseName(path));
}
