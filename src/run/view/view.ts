import { UnsupportedError } from "../../core/errors/errors.ts";
import { comparePaths, displayPath, isAtOrBelow } from "../../core/paths/byte-path.ts";
import type { MountTable } from "../../system/mount/mount-table.ts";
import type { ViewStep } from "../launch/launch-spec.ts";
import { mountsToShow } from "./host-mounts.ts";
import { channelCover, devMounts, type MachineEntries, procMounts } from "./kernel-mounts.ts";
import { type ScratchLayer, scratchMount } from "./scratch.ts";
import { refersTo, type ShownSandbox } from "./shown-sandbox.ts";
import { socketlessMounts } from "./socketless-host.ts";
import {
  ancestorsBetween,
  coverFile,
  coverIfThere,
  emptyCover,
  type HostBind,
  type HostFile,
  isStrictlyBelow,
  type ViewMount,
} from "./view-mount.ts";

/**
 * What a command sees of the file system:
 * - the host, read-only;
 * - its own /proc and a small /dev;
 * - scratch layers over home and temporary folders, without the hidden paths;
 * - each sandbox at the path of its original.
 */
export interface ViewRequest {
  readonly table: MountTable;
  /**
   * Whether this process may mount freely. If not, the mounts of the host can only be copied all together.
   */
  readonly privileged: boolean;
  /** Folders in which the command can't reach sockets and fifos of the host. */
  readonly socketless: readonly string[];
  readonly scratch: readonly ScratchLayer[];
  /** Folders of the plan that replace folders of the host. */
  readonly folders: readonly { readonly at: string; readonly folder: string }[];
  /**
   * Folders that the command must not see. Where they can't be hidden, they look empty but for requested
   * mounts.
   */
  readonly hidden: readonly string[];
  /** Those of the hidden paths that are files. Where they can't be hidden, they look empty. */
  readonly hiddenFiles: readonly string[];
  /** Paths of the host that are shown as they are, in what is hidden or looks writable. */
  readonly binds: readonly HostBind[];
  /** Folders that look empty. */
  readonly emptied: readonly string[];
  /** Files to show in folders that look empty. */
  readonly files: readonly HostFile[];
  readonly shown: readonly ShownSandbox[];
  readonly machine: MachineEntries;
}

/** All steps in order: outer mounts come before the mounts inside them. */
export function viewSteps(request: ViewRequest): readonly ViewStep[] {
  for (const { at } of request.shown) assertShowable(at);
  const mounts = mountsOf(request);
  const empty = mounts.filter(({ isEmpty }) => isEmpty).map(({ at }) => at);
  const missing = mounts.flatMap((mount) => mount.missing ?? []);
  // What is missing below a sandbox is there in the sandbox, and what is missing below a bind is there again.
  const isShown = (at: string) =>
    [...request.shown, ...request.binds].some((it) => isStrictlyBelow(at, it.at));
  const isThere = (at: string) => !missing.includes(at) || isShown(at);
  const covers = [...request.hidden.filter(isThere), ...request.emptied]
    .filter((at) => isShown(at) || innermost(mounts, at)?.isEmpty !== true)
    .map((at) => {
      if (isShown(at)) return coverIfThere(at, mounts, request.files);
      return request.hiddenFiles.includes(at) ? coverFile(at) : emptyCover(at, mounts, request.files);
    });
  const made = mounts.filter(({ isWritable }) => isWritable).flatMap((mount) => mount.missing ?? []);
  const points = [
    ...[...empty, ...made].flatMap((folder) => pointsIn(folder, mounts)),
    ...request.binds.flatMap((bind) => (bind.from === undefined ? [] : pointsTo(bind, mounts))),
  ];
  const all = [...points, ...mounts, ...covers, ...pinsOf(mounts, covers, request.shown)];
  all.sort((a, b) => comparePaths(a.at, b.at));
  const links = request.shown.flatMap(({ link }) => link ?? []);
  return [
    ...all.flatMap(({ steps }) => steps),
    ...links.map(({ at, to }): ViewStep => ({ step: "link", at, to })),
  ];
}

/** A command that joins a view needs its own /proc, and not the channel of the other command. */
export function joinedSteps(privileged: boolean, machine: MachineEntries): readonly ViewStep[] {
  return [...procMounts(privileged, machine).flatMap(({ steps }) => steps), channelCover()];
}

function mountsOf(request: ViewRequest): readonly ViewMount[] {
  const { table, privileged, socketless, scratch, folders, hidden, binds, emptied, shown, machine } = request;
  const covered = [...folders.map(({ at }) => at), ...hidden, ...emptied, ...shown.map(({ at }) => at)];
  // No mount point can be made in a read-only overlay, so a hidden folder with something shown in it is
  // covered instead.
  const inside = [...refersTo(shown), ...[...shown, ...binds].map(({ at }) => at)];
  const missing = hidden.filter((path) => !inside.some((at) => isStrictlyBelow(at, path)));
  return [
    ...(privileged ? hostMounts(table, covered, request) : []),
    ...socketlessMounts(table, {
      folders: socketless,
      covered,
      missing,
      kind: privileged ? "plain" : "user",
    }),
    ...procMounts(privileged, machine),
    ...devMounts(),
    ...scratch.map((layer) => scratchMount(layer, privileged)),
    ...folders.map(folderMount),
    ...referredMounts(shown, scratch),
    ...binds.map(bindMount),
    ...binds.flatMap((bind) => withoutSockets(bind, covered, request)),
    ...uniquelyMounted(shown).map(sandboxMount),
  ];
}

/** The mounts of the host that no mount of ours covers. In a layer alone only those in binds are there. */
function hostMounts(
  table: MountTable,
  covered: readonly string[],
  { scratch, binds }: ViewRequest,
): readonly ViewMount[] {
  const alone = scratch.filter((layer) => layer.alone);
  const isIn = (point: string, places: readonly { readonly at: string }[]) =>
    places.some(({ at }) => isAtOrBelow(point, at));
  const shown = binds.filter(({ from }) => from === undefined);
  return mountsToShow(table)
    .filter(({ point }) => !covered.some((at) => isAtOrBelow(point, at)))
    .filter(({ point }) => !isIn(point, alone) || isIn(point, shown))
    .map(({ point: at }) => ({
      at,
      steps: [{ step: "bind", at, from: at, flags: { readOnly: true, noDevices: true }, ifThere: true }],
    }));
}

function folderMount({ at, folder }: ViewRequest["folders"][number]): ViewMount {
  return {
    at,
    isWritable: true,
    isEmpty: true,
    steps: [{ step: "bind", at, from: folder, flags: { noDevices: true } }],
  };
}

function bindMount({ at, from, isFile, isWritable }: HostBind): ViewMount {
  const flags = { noDevices: true, ...(!isWritable && { readOnly: true }) };
  return {
    ...{ at, isFile, isWritable, isEmpty: from !== undefined },
    steps: [{ step: "bind", at, from: from ?? at, flags, ifThere: true }],
  };
}

/** What can only be read leads to no process outside: its sockets belong to the lines about sockets. */
function withoutSockets(
  { at, from, isFile, isWritable, keepsSockets }: HostBind,
  covered: readonly string[],
  { table, privileged }: ViewRequest,
): readonly ViewMount[] {
  if (isFile || isWritable || from !== undefined || keepsSockets) return [];
  const inside = covered.filter((path) => isStrictlyBelow(path, at));
  const kind = privileged ? "plain" : "user";
  return socketlessMounts(table, { folders: [at], covered: inside, missing: [], kind });
}

/** Shows what a sandbox refers to, read-only. Without this, a scratch layer would make it look writable. */
function referredMounts(
  shown: readonly ShownSandbox[],
  scratch: readonly ScratchLayer[],
): readonly ViewMount[] {
  return refersTo(shown)
    .filter((path) => !scratch.some(({ at }) => isAtOrBelow(at, path)))
    .map((at) => ({
      at,
      steps: [{ step: "bind", at, from: at, flags: { readOnly: true, noDevices: true } }],
    }));
}

function sandboxMount({ at, view, isFile }: ShownSandbox): ViewMount {
  if (view.kind === "place")
    return { at, isFile, steps: [{ step: "bind", at, from: view.path, flags: { noDevices: true } }] };
  const { lower, hidden, upper, work, source } = view;
  const layers = {
    lower,
    ...(hidden !== undefined && { hidden }),
    upper,
    work,
    source,
    kind: "user" as const,
  };
  return { at, isFile, steps: [{ step: "overlay", at, layers }] };
}

/** Several sandboxes can share a view; it is mounted once. */
function uniquelyMounted(shown: readonly ShownSandbox[]): readonly ShownSandbox[] {
  return shown.filter((item, index) => shown.findIndex((other) => other.at === item.at) === index);
}

/** The mount that shows what is at a path. */
function innermost(mounts: readonly ViewMount[], path: string): ViewMount | undefined {
  return mounts
    .filter(({ at }) => isStrictlyBelow(path, at))
    .toSorted((a, b) => a.at.length - b.at.length)
    .at(-1);
}

/** The mount point of what is shown in the place of something that may be missing. */
function pointsTo({ at, isFile }: HostBind, mounts: readonly ViewMount[]): readonly ViewMount[] {
  const around = innermost(mounts, at);
  if (around?.isWritable !== true) return [];
  return [...ancestorsBetween(around.at, at).map((folder) => point(folder)), point(at, isFile)];
}

function point(at: string, isFile = false): ViewMount {
  return { at, steps: [{ step: "point", at, isFile }] };
}

/** Mount points for the mounts inside a folder that is empty or missing. */
function pointsIn(folder: string, mounts: readonly ViewMount[]): readonly ViewMount[] {
  const inside = mounts.filter(({ at }) => isStrictlyBelow(at, folder));
  if (inside.length === 0) return [];
  const ancestors = inside.flatMap(({ at }) => ancestorsBetween(folder, at));
  return [...new Set([folder, ...ancestors])]
    .map((at) => point(at))
    .concat(inside.map(({ at, isFile }) => point(at, isFile)));
}

/**
 * A command can't move or remove a mount point, but it can move the folders around it. In a layer that the
 * plan keeps, the next command would then find another folder, or a link, on the path to a mount point.
 * Binding these folders to themselves prevents that.
 */
function pinsOf(
  mounts: readonly ViewMount[],
  covers: readonly ViewMount[],
  shown: readonly ShownSandbox[],
): readonly ViewMount[] {
  const taken = new Set([...mounts, ...covers].map(({ at }) => at));
  const between = (around: readonly { readonly at: string }[], inside: readonly ViewMount[]) =>
    around.flatMap((outer) =>
      inside
        .filter(({ at }) => isStrictlyBelow(at, outer.at))
        .flatMap(({ at }) => ancestorsBetween(outer.at, at)),
    );
  const writable = mounts.filter(({ isWritable }) => isWritable);
  const pins = [
    ...between(writable, [...mounts, ...covers]),
    // The same for folders in a sandbox that lead to a cover, as those of a home to the state directory.
    ...between(shown, covers),
  ].filter((at) => !taken.has(at));
  return [...new Set(pins)].map((at) => ({
    at,
    steps: [{ step: "self-bind", at, flags: {}, ...mayBeGone(at) }],
  }));

  /** A sandbox need not have the folders that the host has. */
  function mayBeGone(at: string) {
    return shown.some((it) => isStrictlyBelow(at, it.at)) && { ifThere: true as const };
  }
}

/** /proc, /sys and /dev are new for each command, so no sandbox can be shown there. */
function assertShowable(at: string): void {
  const taken = ["/proc", "/sys", "/dev"].find((own) => isAtOrBelow(at, own));
  if (taken === undefined || isAtOrBelow(at, "/dev/shm")) return;
  throw new UnsupportedError(
    `${displayPath(at)} can't be shown to a command: each command gets its own ${taken}.`,
    {
      hint: "Use a folder elsewhere.",
    },
  );
}
