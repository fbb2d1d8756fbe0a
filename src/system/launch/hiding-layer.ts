import { baseName, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Facts } from "../calls/facts.ts";
import { Folder } from "../calls/folder.ts";
import { calls, check, cString, pathPointer } from "../calls/native.ts";
import { O_CLOEXEC, O_PATH } from "../calls/open-flags.ts";
import { launchCalls } from "./calls.ts";
import { attachMount, newMount } from "./new-mount.ts";

const S_IFCHR = 0o020000;

/**
 * Where the layers are mounted while the root is built: in the old root, on a kernel folder of which the view
 * shows nothing.
 */
const BESIDE = "/sys/class";

/**
 * Layers between a folder of the host and a command's own layer, in which some names are missing. The kernel
 * looks names up here before it looks in the folder of the host, however commands move folders around.
 *
 * They are in memory: a layer must not be inside the folder that it covers, as the state directory often is.
 */
export class HidingLayers {
  #top: Folder | undefined;
  #made = 0;

  /** An empty layer. */
  empty(): Folder {
    return this.#make({ mode: 0o755, uid: 0, gid: 0 });
  }

  #make(like: Look): Folder {
    this.#top ??= mountedInMemory();
    this.#made += 1;
    const name = String(this.#made);
    makeFolder(this.#top, name, like);
    return this.#top.openChild(name);
  }

  /** A layer that hides these paths, which are relative to the folder. */
  over(lower: Folder, paths: readonly string[]): Folder {
    const layer = this.#make(lower.ownFacts());
    for (const path of paths) {
      using parent = likeBelow(layer, lower, parentPath(path));
      const whiteout = calls.mknodat(parent.fd, pathPointer(baseName(path)), S_IFCHR, 0);
      check(whiteout, "mknod", path);
    }
    return layer;
  }
}

function mountedInMemory(): Folder {
  const target = check(launchCalls.open(cString(BESIDE), O_PATH | O_CLOEXEC, 0), "open", BESIDE);
  const mount = newMount("tmpfs", [["mode", "0700"]], {});
  attachMount(mount, target, BESIDE);
  calls.close(target);
  return new Folder(mount, BESIDE);
}

/**
 * Makes the folder at a path of the layer, and those above it, each with the attributes of the host's: a
 * merged folder looks like its topmost layer.
 */
function likeBelow(layer: Folder, lower: Folder, path: string): Folder {
  if (path === ROOT_PATH) return layer.duplicate();
  using parent = likeBelow(layer, lower, parentPath(path));
  const name = baseName(path);
  const facts = lower.factsBelow(path);
  if (facts !== undefined && parent.facts(name) === undefined) makeFolder(parent, name, facts);
  return parent.openChild(name);
}

type Look = Pick<Facts, "mode" | "uid" | "gid">;

function makeFolder(parent: Folder, name: string, like: Look): void {
  check(calls.mkdirat(parent.fd, pathPointer(name), 0o700), "mkdir", name);
  using folder = parent.openChild(name);
  // Without privilege everything seems to belong to the one mapped user.
  calls.fchownat(parent.fd, pathPointer(name), like.uid, like.gid, 0);
  check(calls.chmod(pathPointer(`/proc/self/fd/${folder.fd}`), like.mode), "chmod", name);
}
