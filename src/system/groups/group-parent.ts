import { accessSync, constants, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf } from "../../core/errors/errors.ts";
import { failedWith } from "../calls/errno.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { MountTable } from "../mount/mount-table.ts";

/** What the kernel can limit in a control group. */
export type Controller = "pids" | "memory";

/** A folder in which Drydock can make a control group with this controller. */
export interface GroupParent {
  /** The version of the interface, which decides the names of a group's files. */
  readonly version: 1 | 2;
  readonly folder: string;
}

interface Hierarchy {
  readonly version: 1 | 2;
  /** The mount point, and our own group below it. */
  readonly root: string;
  readonly own: string;
}

/**
 * Finds the parent for a new control group, or says why there is none.
 *
 * In version 1 each controller has its own hierarchy, and the new group goes into our own group. In version 2
 * a group with processes can't give controllers to children, so the new group goes beside our own; only the
 * root may have both. A machine can use version 1 for some controllers.
 */
export function groupParent(
  enable: Failpoint,
  controller: Controller,
): GroupParent | { readonly why: string } {
  const hierarchy = hierarchyOf(controller);
  if (hierarchy === undefined) return { why: `this machine has no control groups for ${NAMES[controller]}` };
  const { version, own, root } = hierarchy;
  const folder = version === 1 || own === root ? own : dirname(own);
  try {
    accessSync(folder, constants.W_OK);
    // Moving a process needs write access to the common ancestor of its old and new group.
    accessSync(`${folder}/cgroup.procs`, constants.W_OK);
    if (version === 2) handDown(enable, folder, controller);
    return { version, folder };
  } catch (thrown) {
    if (failedWith(thrown, "EACCES", "EPERM", "EROFS"))
      return { why: `this user may not make a control group in ${folder}` };
    if (failedWith(thrown, "EBUSY", "ENOENT", "EINVAL", "EOPNOTSUPP"))
      return {
        why: `${folder} gives its control groups none for ${NAMES[controller]} (${messageOf(thrown)})`,
      };
    throw thrown;
  }
}

const NAMES: { readonly [name in Controller]: string } = { pids: "processes", memory: "memory" };

function handDown(point: Failpoint, folder: string, controller: Controller): void {
  const file = `${folder}/cgroup.subtree_control`;
  if (readFileSync(file, "latin1").trim().split(" ").includes(controller)) return;
  passFailpoint(point);
  writeFileSync(file, `+${controller}`, { flag: "r+" });
}

/** `ID:CONTROLLERS:PATH` a line; the hierarchy of version 2 has the id 0 and names no controller. */
function hierarchyOf(controller: Controller): Hierarchy | undefined {
  const lines = readFileSync("/proc/self/cgroup", "latin1").split("\n").filter(Boolean);
  const groups = lines.map((line) => {
    const [id = "", names = "", ...path] = line.split(":");
    return { isUnified: id === "0" && names === "", names: names.split(","), path: path.join(":") };
  });
  const found =
    groups.find(({ names }) => names.includes(controller)) ?? groups.find(({ isUnified }) => isUnified);
  if (found === undefined) return undefined;
  const mount = MountTable.read()
    .visible()
    .find(({ type, options }) =>
      found.isUnified ? type === "cgroup2" : type === "cgroup" && options.includes(controller),
    );
  // In a container only a part of the hierarchy may be mounted, and our own group may be outside of it.
  const top = mount?.root === "/" ? "" : mount?.root;
  if (mount === undefined || top === undefined || !`${found.path}/`.startsWith(`${top}/`)) return undefined;
  const below = found.path === "/" ? "" : found.path.slice(top.length);
  const own = `${mount.point}${below}`;
  return { version: found.isUnified ? 2 : 1, root: mount.point, own };
}
