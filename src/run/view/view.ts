import { UnsupportedError } from "../../core/errors/errors.ts";
import { comparePaths, displayPath, isAtOrBelow } from "../../core/paths/byte-path.ts";
import type { MountTable } from "../../system/mount/mount-table.ts";
import type { ViewStep } from "../launch/launch-spec.ts";
import { mountsToShow } from "./host-mounts.ts";
import { devMounts, type MachineEntries, procMounts } from "./kernel-mounts.ts";
import { type ScratchLayer, scratchMount } from "./scratch.ts";
import { refersTo, type ShownSandbox } from "./shown-sandbox.ts";
import { socketlessMounts } from "./socketless-host.ts";
import {
  ancestorsBetween,
  emptyCover,
  type HostFile,
  isStrictlyBelow,
  type ViewMount,
} from "./view-mount.ts";

/**
 * What a command sees of the file system: the host, read-only; on it its own /proc and a small /dev; the
 * scratch layers of home and temporary folders, from which what is hidden is missing; and each sandbox in the
 * place of its original.
 */
export interface ViewRequest {
  readonly table: MountTable;
  /** Whether we may mount as we like; else what is mounted on the host comes along as a whole. */
  readonly privileged: boolean;
  /** Whether sockets and fifos of the host are out of reach. */
  readonly withoutSockets: boolean;
  readonly scratch: readonly ScratchLayer[];
  /** Folders of the plan's own that are shown in the place of others. */
  readonly folders: readonly { readonly at: string; readonly folder: string }[];
  /** Folders that are missing; where that can't be, nothing in them is shown but what else is asked for. */
  readonly hidden: readonly string[];
  /** Folders that look empty. */
  readonly emptied: readonly string[];
  /** Files that are shown in folders that look empty. */
  readonly files: readonly HostFile[];
  readonly shown: readonly ShownSandbox[];
  readonly machine: MachineEntries;
}

/** Everything to mount, in order: what is around something comes before it. */
export function viewSteps(request: ViewRequest): readonly ViewStep[] {
  for (const { at } of request.shown) assertShowable(at);
  const mounts = mountsOf(request);
  const empty = mounts.filter(({ isEmpty }) => isEmpty).map(({ at }) => at);
  const missing = mounts.flatMap((mount) => mount.missing ?? []);
  const covers = [...request.hidden.filter((at) => !missing.includes(at)), ...request.emptied]
    .filter((at) => !empty.some((folder) => isStrictlyBelow(at, folder)))
    .map((at) => emptyCover(at, mounts, request.files));
  const made = mounts.filter(({ isWritable }) => isWritable).flatMap((mount) => mount.missing ?? []);
  const points = [...empty, ...made].flatMap((folder) => pointsIn(folder, mounts));
  const all = [...points, ...mounts, ...covers, ...pinsOf(mounts)];
  all.sort((a, b) => comparePaths(a.at, b.at));
  const links = request.shown.flatMap(({ link }) => link ?? []);
  return [
    ...all.flatMap(({ steps }) => steps),
    ...links.map(({ at, to }): ViewStep => ({ step: "link", at, to })),
  ];
}

/** In a view that is taken over all is right already but for the processes. */
export function joinedSteps(privileged: boolean, machine: MachineEntries): readonly ViewStep[] {
  return procMounts(privileged, machine).flatMap(({ steps }) => steps);
}

function mountsOf(request: ViewRequest): readonly ViewMount[] {
  const { table, privileged, withoutSockets, scratch, folders, hidden, emptied, shown, machine } = request;
  const covered = [...folders.map(({ at }) => at), ...hidden, ...emptied, ...shown.map(({ at }) => at)];
  // No mount point can be made in a read-only overlay, so a hidden folder with something shown in it is
  // covered instead.
  const inside = [...refersTo(shown), ...shown.map(({ at }) => at)];
  const missing = hidden.filter((path) => !inside.some((at) => isStrictlyBelow(at, path)));
  return [
    ...(privileged ? hostMounts(table, covered) : []),
    ...(withoutSockets
      ? socketlessMounts(table, { covered, missing, kind: privileged ? "plain" : "user" })
      : []),
    ...procMounts(privileged, machine),
    ...devMounts(),
    ...scratch.map((layer) => scratchMount(layer, privileged)),
    ...folders.map(folderMount),
    ...referredMounts(shown, scratch),
    ...uniquelyMounted(shown).map(sandboxMount),
  ];
}

/** What is mounted on the host, where nothing of ours covers it. */
function hostMounts(table: MountTable, covered: readonly string[]): readonly ViewMount[] {
  return mountsToShow(table)
    .filter(({ point }) => !covered.some((at) => isAtOrBelow(point, at)))
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

/** What a sandbox refers to can be looked at. In a scratch layer it would look as if it could be changed. */
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

/** What several sandboxes share is mounted once. */
function uniquelyMounted(shown: readonly ShownSandbox[]): readonly ShownSandbox[] {
  return shown.filter((item, index) => shown.findIndex((other) => other.at === item.at) === index);
}

/**
 * What is mounted in a folder in which nothing of the host is, or which is missing, needs something to be
 * mounted on.
 */
function pointsIn(folder: string, mounts: readonly ViewMount[]): readonly ViewMount[] {
  const point = (at: string, isFile = false): ViewMount => ({ at, steps: [{ step: "point", at, isFile }] });
  const inside = mounts.filter(({ at }) => isStrictlyBelow(at, folder));
  if (inside.length === 0) return [];
  const ancestors = inside.flatMap(({ at }) => ancestorsBetween(folder, at));
  return [...new Set([folder, ...ancestors])]
    .map((at) => point(at))
    .concat(inside.map(({ at, isFile }) => point(at, isFile)));
}

/**
 * A folder on which something is mounted can be neither moved nor removed, but the folders around it can. In
 * a layer that is kept for the next command another folder, or a link, would then be in the place of what is
 * to be mounted: so these folders are mounted on themselves.
 */
function pinsOf(mounts: readonly ViewMount[]): readonly ViewMount[] {
  const taken = new Set(mounts.map(({ at }) => at));
  const pins = mounts
    .filter(({ isWritable }) => isWritable)
    .flatMap((writable) =>
      mounts
        .filter(({ at }) => isStrictlyBelow(at, writable.at))
        .flatMap(({ at }) => ancestorsBetween(writable.at, at)),
    )
    .filter((at) => !taken.has(at));
  return [...new Set(pins)].map((at) => ({ at, steps: [{ step: "self-bind", at, flags: {} }] }));
}

/** Some folders are made anew for the command, so nothing of the host's can be shown there. */
function assertShowable(at: string): void {
  const taken = ["/proc", "/sys", "/dev"].find((own) => isAtOrBelow(at, own));
  if (taken === undefined || isAtOrBelow(at, "/dev/shm")) return;
  throw new UnsupportedError(
    `${displayPath(at)} can't be shown to a command: ${taken} is made anew for it.`,
    {
      hint: "Use a folder elsewhere.",
    },
  );
}
