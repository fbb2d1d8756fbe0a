import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import { unlessFailed } from "../calls/errno.ts";
import { Folder } from "../calls/folder.ts";
import { factsAtLink } from "../data/locations.ts";
import type { Holder } from "../process/holders.ts";
import {
  commandOf,
  GONE_OR_NOT_OURS,
  linksOf,
  processIds,
  readIfThere,
  readLinkIfThere,
} from "../process/processes.ts";
import { type MountEntry, parseMounts, unescapePath } from "./mount-table.ts";

/**
 * A mount in any namespace, and a process that sees it. Found in /proc, as far as this user may read it: root
 * sees all but namespaces without a process (held by a descriptor or a bind mount alone), and mounts that
 * were detached while in use.
 */
export interface LiveMount {
  /** A process that sees it. */
  readonly pid: number;
  readonly command: string;
  /** The mount point, as that process sees it. */
  readonly mountPoint: string;
  /** Its file system, "major:minor". */
  readonly device: string;
  /** Whether this process sees it too. */
  readonly isOurs: boolean;
  /** Whether it is read-only in every namespace. */
  readonly isReadOnly: boolean;
}

/** The mounts with this source in every mount namespace. */
export function liveMounts(source: string): LiveMount[] {
  return mountsEverywhere((mount) => mount.source === source);
}

/**
 * Opens a mount as the process that sees it does; undefined if it is gone. That process may put a link on the
 * way that leads anywhere, so the opened folder must be on that file system.
 */
export function openLiveMount({ pid, mountPoint, device }: LiveMount): Folder | undefined {
  const gone = [...GONE_OR_NOT_OURS, "ENOTDIR", "ELOOP"];
  const folder = unlessFailed(gone, () => Folder.open(`/proc/${pid}/root${mountPoint}`));
  if (folder?.ownFacts().device === device) return folder;
  folder?.close();
  return undefined;
}

/** The mounts of one file system ("major:minor") in every mount namespace. */
export function liveMountsOfDevice(device: string): LiveMount[] {
  return mountsEverywhere((mount) => mount.device === device);
}

function mountsEverywhere(matches: (mount: MountEntry) => boolean): LiveMount[] {
  const ours = readLinkIfThere("/proc/self/ns/mnt");
  return [...onePerNamespace()].flatMap(([namespace, pid]) =>
    parseMounts(readIfThere(`/proc/${pid}/mountinfo`) ?? "")
      .filter(matches)
      .map(({ point, device, options }) => ({
        pid: Number(pid),
        command: commandOf(pid),
        mountPoint: point,
        device,
        isOurs: namespace === ours,
        isReadOnly: options.includes("ro"),
      })),
  );
}

/** One process of each mount namespace; of our own, this one. */
function onePerNamespace(): Map<string, string> {
  const found = new Map<string, string>();
  for (const pid of [String(process.pid), ...processIds()]) {
    const namespace = readLinkIfThere(`/proc/${pid}/ns/mnt`);
    if (namespace !== undefined && !found.has(namespace)) found.set(namespace, pid);
  }
  return found;
}

/**
 * Processes, this one included, that keep the mount at this path busy: they work in it, have something in it
 * open or mapped, listen on a socket in it, or see it in another namespace.
 */
export function holdersOf(mountPath: string): Holder[] {
  using parent = Folder.open(parentPath(mountPath));
  const mount = parent.facts(baseName(mountPath));
  if (mount === undefined) return [];
  const searched: SearchedMount = {
    path: mountPath,
    mountId: mount.mountId,
    device: mount.device,
    sockets: socketsBelow(mountPath),
  };
  const inside = processIds().flatMap((pid) => {
    const path = heldBy(pid, searched);
    return path === undefined ? [] : [{ pid: Number(pid), command: commandOf(pid), path }];
  });
  const elsewhere = liveMountsOfDevice(mount.device)
    .filter((live) => !live.isOurs && !inside.some(({ pid }) => pid === live.pid))
    .map(({ pid, command, mountPoint }) => ({ pid, command, path: mountPoint }));
  return [...inside, ...elsewhere];
}

interface SearchedMount {
  readonly path: string;
  readonly mountId: number;
  readonly device: string;
  /** Sockets bound below, by their names in /proc/PID/fd. */
  readonly sockets: ReadonlyMap<string, string>;
}

/** The first path on that mount that a process holds. */
function heldBy(pid: string, searched: SearchedMount): string | undefined {
  for (const name of linksOf(pid)) {
    const link = `/proc/${pid}/${name}`;
    const path = readLinkIfThere(link);
    if (path === undefined) continue;
    if (searched.sockets.has(path)) return searched.sockets.get(path);
    // The path alone proves nothing: another mount may cover it, here or in another namespace.
    if (isBelow(path, searched.path) && factsAtLink(link)?.mountId === searched.mountId) return path;
  }
  return mappedBy(pid, searched);
}

/** `FROM-TO PERMISSIONS OFFSET MAJOR:MINOR INODE PATH`, the device in hexadecimal. */
function mappedBy(pid: string, { path, device }: SearchedMount): string | undefined {
  for (const line of readIfThere(`/proc/${pid}/maps`)?.split("\n") ?? []) {
    const match = /^\S+ \S+ \S+ (?<major>[0-9a-f]+):(?<minor>[0-9a-f]+) \d+\s+(?<mapped>\/.*)$/.exec(line);
    if (match?.groups === undefined) continue;
    const { major = "", minor = "", mapped = "" } = match.groups;
    if (`${Number.parseInt(major, 16)}:${Number.parseInt(minor, 16)}` !== device) continue;
    const name = unescapePath(mapped);
    if (isBelow(name, path)) return name;
  }
  return undefined;
}

/**
 * `…: REFERENCES PROTOCOL FLAGS TYPE STATE INODE PATH` for each bound socket. Returns paths by descriptor
 * names.
 */
function socketsBelow(path: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of readIfThere("/proc/self/net/unix")?.split("\n") ?? []) {
    const fields = line.trim().split(/\s+/);
    const bound = unescapePath(fields.slice(7).join(" "));
    if (isBelow(bound, path)) found.set(`socket:[${fields[6]}]`, bound);
  }
  return found;
}

function isBelow(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}/`);
}
