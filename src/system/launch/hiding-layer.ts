import { baseName, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Facts } from "../calls/facts.ts";
import { Folder } from "../calls/folder.ts";
import { calls, check, cString, pathPointer } from "../calls/native.ts";
import { O_CLOEXEC, O_PATH } from "../calls/open-flags.ts";
import { launchCalls } from "./calls.ts";
import { attachMount, newMount } from "./new-mount.ts";

const S_IFCHR = 0o020000;

/**
 * Where the layers are while the root is put together: in the root that goes, in a folder of the kernel's in
 * which nothing is that is shown.
 */
const BESIDE = "/sys/class";

/**
 * Layers that lie over a folder of the host and under what commands wrote, in which names are missing.
 * However commands move folders around, what the kernel looks up in the folder of the host, it looks up here
 * first.
 *
 * They are in memory: a layer may not lie inside the folder that it lies over, as our state directory often
 * does.
 */
export class HidingLayers {
  #top: Folder | undefined;
  #made = 0;

  /** A layer with nothing in it. */
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

  /** A layer that hides these paths, which are below the folder. */
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
 * The folder at a path of the layer, with those on the way, each like that of the host: a merged folder looks
 * like its topmost layer.
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
  // Without privilege all of it seems to belong to the one user that there is.
  calls.fchownat(parent.fd, pathPointer(name), like.uid, like.gid, 0);
  check(calls.chmod(pathPointer(`/proc/self/fd/${folder.fd}`), like.mode), "chmod", name);
}
