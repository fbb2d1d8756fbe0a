import { UnsupportedError } from "../../core/errors/errors.ts";
import { comparePaths, displayPath, isAtOrBelow } from "../../core/paths/byte-path.ts";
import type { MountTable } from "../../system/mount/mount-table.ts";
import type { ViewStep } from "../launch/launch-spec.ts";
import { mountsToShow } from "./host-mounts.ts";
import { devicePlaces, type MachineEntries, processPlaces } from "./own-places.ts";
import { ancestorsBetween, coverOf, isStrictlyBelow, type Place, type ShownFile } from "./places.ts";
import { layerPlace, type ScratchLayer } from "./scratch.ts";
import { refersTo, type Shown } from "./shown.ts";
import { veilPlaces } from "./veil.ts";

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
  readonly veiled: boolean;
  readonly scratch: readonly ScratchLayer[];
  /** Folders of the plan's own that are shown in the place of others. */
  readonly folders: readonly { readonly at: string; readonly folder: string }[];
  /** Folders that are missing; where that can't be, nothing in them is shown but what else is asked for. */
  readonly hidden: readonly string[];
  /** Folders that look empty. */
  readonly emptied: readonly string[];
  /** Files that are shown in folders that look empty. */
  readonly files: readonly ShownFile[];
  readonly shown: readonly Shown[];
  readonly machine: MachineEntries;
}

/** Everything to mount, in order: what is around something comes before it. */
export function viewSteps(request: ViewRequest): readonly ViewStep[] {
  for (const { at } of request.shown) assertShowable(at);
  const places = placesOf(request);
  const empty = places.filter(({ isEmpty }) => isEmpty).map(({ at }) => at);
  const missing = places.flatMap((place) => place.missing ?? []);
  const covers = [...request.hidden.filter((at) => !missing.includes(at)), ...request.emptied]
    .filter((at) => !empty.some((folder) => isStrictlyBelow(at, folder)))
    .map((at) => coverOf(at, places, request.files));
  const made = places.filter(({ isWritable }) => isWritable).flatMap((place) => place.missing ?? []);
  const points = [...empty, ...made].flatMap((folder) => pointsIn(folder, places));
  const all = [...points, ...places, ...covers, ...pinsOf(places)];
  all.sort((a, b) => comparePaths(a.at, b.at));
  const links = request.shown.flatMap(({ link }) => link ?? []);
  return [
    ...all.flatMap(({ steps }) => steps),
    ...links.map(({ at, to }): ViewStep => ({ step: "link", at, to })),
  ];
}

/** In a view that is taken over all is right already but for the processes. */
export function joinedSteps(privileged: boolean, machine: MachineEntries): readonly ViewStep[] {
  return processPlaces(privileged, machine).flatMap(({ steps }) => steps);
}

function placesOf(request: ViewRequest): readonly Place[] {
  const { table, privileged, veiled, scratch, folders, hidden, emptied, shown, machine } = request;
  const covered = [...folders.map(({ at }) => at), ...hidden, ...emptied, ...shown.map(({ at }) => at)];
  // In a veil nothing can be made, so what has something in it that is shown is covered instead.
  const inside = [...refersTo(shown), ...shown.map(({ at }) => at)];
  const missing = hidden.filter((path) => !inside.some((at) => isStrictlyBelow(at, path)));
  return [
    ...(privileged ? hostPlaces(table, covered) : []),
    ...(veiled ? veilPlaces(table, { covered, missing, kind: privileged ? "plain" : "user" }) : []),
    ...processPlaces(privileged, machine),
    ...devicePlaces(),
    ...scratch.map((layer) => layerPlace(layer, privileged)),
    ...folders.map(folderPlace),
    ...referredPlaces(shown, scratch),
    ...uniquelyMounted(shown).map(sandboxPlace),
  ];
}

/** What is mounted on the host, where nothing of ours covers it. */
function hostPlaces(table: MountTable, covered: readonly string[]): readonly Place[] {
  return mountsToShow(table)
    .filter(({ point }) => !covered.some((at) => isAtOrBelow(point, at)))
    .map(({ point: at }) => ({
      at,
      steps: [{ step: "bind", at, from: at, flags: { readOnly: true, noDevices: true }, ifThere: true }],
    }));
}

function folderPlace({ at, folder }: ViewRequest["folders"][number]): Place {
  return {
    at,
    isWritable: true,
    isEmpty: true,
    steps: [{ step: "bind", at, from: folder, flags: { noDevices: true } }],
  };
}

/** What a sandbox refers to can be looked at. In a scratch layer it would look as if it could be changed. */
function referredPlaces(shown: readonly Shown[], scratch: readonly ScratchLayer[]): readonly Place[] {
  return refersTo(shown)
    .filter((path) => !scratch.some(({ at }) => isAtOrBelow(at, path)))
    .map((at) => ({
      at,
      steps: [{ step: "bind", at, from: at, flags: { readOnly: true, noDevices: true } }],
    }));
}

function sandboxPlace({ at, view, isFile }: Shown): Place {
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
function uniquelyMounted(shown: readonly Shown[]): readonly Shown[] {
  return shown.filter((item, index) => shown.findIndex((other) => other.at === item.at) === index);
}

/**
 * What is mounted in a folder in which nothing of the host is, or which is missing, needs something to be
 * mounted on.
 */
function pointsIn(folder: string, places: readonly Place[]): readonly Place[] {
  const point = (at: string, isFile = false): Place => ({ at, steps: [{ step: "point", at, isFile }] });
  const inside = places.filter(({ at }) => isStrictlyBelow(at, folder));
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
function pinsOf(places: readonly Place[]): readonly Place[] {
  const taken = new Set(places.map(({ at }) => at));
  const pins = places
    .filter(({ isWritable }) => isWritable)
    .flatMap((writable) =>
      places
        .filter(({ at }) => isStrictlyBelow(at, writable.at))
        .flatMap(({ at }) => ancestorsBetween(writable.at, at)),
    )
    .filter((at) => !taken.has(at));
  return [...new Set(pins)].map((at) => ({ at, steps: [{ step: "again", at, flags: {} }] }));
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
