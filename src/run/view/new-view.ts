import { UnsupportedError } from "../../core/errors/errors.ts";
import { displayPath, isAtOrBelow } from "../../core/paths/byte-path.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { ensureScratch } from "../../sandboxes/scratch/new-scratch.ts";
import { placeElsewhere } from "../../sandboxes/scratch/scratch-place.ts";
import { Folder } from "../../system/calls/folder.ts";
import { factsOfPath } from "../../system/data/locations.ts";
import { failpoint } from "../../system/failpoints.ts";
import { machineEntries } from "../../system/mount/kernel-entries.ts";
import { MountTable } from "../../system/mount/mount-table.ts";
import { mayMountOnMachine } from "../../system/mount/privilege.ts";
import type { ViewStep } from "../launch/launch-spec.ts";
import type { SharedCache } from "../policy/cache-rules.ts";
import type { PathLine } from "../policy/path-rules.ts";
import type { PolicyInForce } from "../policy/policy-in-force.ts";
import { hasMountsBelow } from "./host-mounts.ts";
import { realPaths, SOCKET_FOLDERS, strictParts } from "./private-folders.ts";
import { prepareScratch, type ScratchLayer, scratchLayers } from "./scratch.ts";
import type { ShownSandbox } from "./shown-sandbox.ts";
import { joinedSteps, viewSteps } from "./view.ts";
import { type HostBind, isStrictlyBelow } from "./view-mount.ts";

/** Prefix of the folder, in the plan's folder, that holds the temporary folders of one command. */
export const OWN_PREFIX = "own-";

const POINTS = { own: failpoint("run.own") };

export interface NewView {
  /** The plan's folder, with its scratch layers. */
  readonly folder: Folder;
  readonly useId: string;
  readonly environment: { readonly [name: string]: string | undefined };
  readonly strict: boolean;
  readonly shown: readonly ShownSandbox[];
  /** Folders with sockets of resources. */
  readonly sockets?: readonly string[];
  /** The paths at which the command can write to resources of the plan. */
  readonly resources: readonly string[];
  readonly hidden: readonly string[];
  readonly policy: ViewPolicy;
  /** Hears of a folder for scratch that is gone, with everything in it. */
  readonly onLost: (path: string) => void;
}

/** What a policy says about paths. */
export type ViewPolicy = Pick<
  PolicyInForce,
  "ownHome" | "denied" | "readable" | "persisted" | "writtenBack" | "sockets" | "caches"
>;

/** Prepares the scratch layers and folders of a command's view. Returns the steps that build the view. */
export async function newView({
  folder,
  useId,
  environment,
  strict,
  shown,
  sockets = [],
  resources,
  hidden: others,
  policy,
  onLost,
}: NewView): Promise<readonly ViewStep[]> {
  const table = MountTable.read();
  const privileged = mayMountOnMachine();
  const cannotCover = (at: string) => !privileged && hasMountsBelow(table, at);
  using place = strict ? undefined : ensureScratch(folder, { environment, resources }, onLost);
  const elsewhere = placeElsewhere(folder);
  const all = new Set([...others, ...(elsewhere === undefined ? [] : [elsewhere])]);
  // Each command gets its own /dev.
  const hidden = [...all].filter((path) => !isAtOrBelow(path, "/dev"));
  const denied = policy.denied.map(({ path }) => path);
  const ownHome = policy.ownHome?.path;
  const binds = [
    ...policy.readable.map(bindOf(false)),
    ...[...policy.persisted, ...policy.sockets].map(bindOf(true)),
    ...policy.caches.shared.map(cacheBind),
    ...[...new Set(sockets)].map(socketBind),
  ];
  // A folder in which something is shown can't be missing: it is covered.
  const missing = denied.filter((path) => !binds.some(({ at }) => isStrictlyBelow(at, path)));
  const scratch =
    place === undefined
      ? []
      : scratchLayers({
          environment,
          folder: place.path,
          resources,
          hidden: [...hidden, ...missing],
          cannotCover,
          ownHome,
        });
  if (place !== undefined) prepareScratch(place, scratch);
  if (place !== undefined && ownHome !== undefined) await prepareOwnHome(folder, scratch, ownHome, policy);
  const common = {
    table,
    privileged,
    // Sockets of daemons are in /run. With --strict no socket leads anywhere, wherever it is.
    socketless: strict ? ["/"] : realPaths(SOCKET_FOLDERS),
    scratch,
    hidden: [...hidden, ...denied],
    hiddenFiles: denied.filter((path) => !isFolder(path)),
    binds,
    shown,
    machine: machineEntries(),
  };
  if (!strict) return viewSteps({ ...common, folders: [], emptied: [], files: [] });
  using own = folder.ensureFolder(POINTS.own, ownName(useId));
  const { emptied, ...parts } = strictParts(own);
  const homes = ownHome === undefined ? [] : [ownHome];
  return viewSteps({ ...common, ...parts, emptied: [...emptied, ...homes] });
}

async function prepareOwnHome(
  plan: Folder,
  scratch: readonly ScratchLayer[],
  home: string,
  policy: ViewPolicy,
): Promise<void> {
  const found = scratch.find(({ at }) => at === home);
  if (found === undefined)
    throw new UnsupportedError(`A command can't have another home at ${displayPath(home)}.`, {
      hint: "Nothing was run. Set HOME to a folder of yours, or leave out run.home.own.",
    });
  const { fillOwnHome } = await import("../own-home/fill-own-home.ts");
  using layer = Folder.open(found.folder);
  fillOwnHome(plan, layer, home, policy);
}

/** What to tell about scratch layers that are gone. */
export function lostSentence(path: string): string {
  return `What commands of the plan wrote outside of its resources was in ${displayPath(path)}, which is gone.`;
}

function bindOf(isWritable: boolean) {
  return ({ path: at }: PathLine): HostBind => ({ at, isFile: !isFolder(at), isWritable });
}

function socketBind(at: string): HostBind {
  return { at, isFile: false, isWritable: false, keepsSockets: true };
}

function cacheBind({ path: at, stored: from, isFile }: SharedCache): HostBind {
  return { at, from, isFile, isWritable: true };
}

function isFolder(path: string): boolean {
  return factsOfPath(path)?.kind === "directory";
}

/** The steps for a command that joins the view of another one. */
export function joinedView(): readonly ViewStep[] {
  return joinedSteps(mayMountOnMachine(), machineEntries());
}

/** Removes the folder that `newView` made for one command. */
export function removeOwnFolder(folder: Folder, useId: string): void {
  removeTree(POINTS.own, folder, ownName(useId));
}

function ownName(useId: string): string {
  return `${OWN_PREFIX}${useId}`;
}
