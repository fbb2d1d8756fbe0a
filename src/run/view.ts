import { comparePaths, displayPath, isAtOrBelow } from "../core/byte-path.ts";
import { UnsupportedError } from "../core/errors.ts";
import type { MountTable } from "../system/mount-table.ts";
import { flagsAt, mountsToShow } from "./host-mounts.ts";
import { bindLine, type MountLine } from "./mount-line.ts";
import type { ScratchLayer } from "./scratch.ts";
import { refersTo, type Shown } from "./shown.ts";
import { DEVICES, type Skeleton } from "./skeleton.ts";

/**
 * What a command sees of the file system: the host, read-only; on it its own /proc and a small /dev; the scratch layers of home and temporary
 * folders; what is hidden, under an empty folder; and each sandbox in the place of its original.
 */
export interface ViewRequest {
  readonly table: MountTable;
  /** Whether we may mount as we like; else what is mounted on the host comes along as a whole. */
  readonly privileged: boolean;
  /** Where the new root is put together. */
  readonly root: string;
  readonly skeleton: Skeleton;
  readonly scratch: readonly ScratchLayer[];
  /** Folders that are shown in the place of others, writable or not. */
  readonly standIns: readonly StandIn[];
  readonly hidden: readonly string[];
  readonly shown: readonly Shown[];
  readonly machine: { readonly writable: readonly string[]; readonly memory: readonly string[] };
}

export interface StandIn {
  readonly at: string;
  readonly folder: string;
  readonly writable: boolean;
}

/** Mounts that belong to one path. Of several at the same path the later ones cover the earlier. */
interface Place {
  readonly at: string;
  readonly lines: readonly MountLine[];
}

/** Everything to mount, in order. */
export function viewLines(request: ViewRequest): readonly MountLine[] {
  for (const { at } of request.shown) assertShowable(at);
  const places = [
    ...hostPlaces(request),
    { at: "/proc", lines: procLines(request) },
    { at: "/dev", lines: deviceLines(request) },
    ...request.scratch
      .filter(({ alone }) => !alone)
      .map((layer) => ({ at: layer.at, lines: [scratchLine(request, layer)] })),
    ...request.standIns.map((standIn) => ({ at: standIn.at, lines: [standInLine(request, standIn)] })),
    ...request.hidden.map((at) => ({ at, lines: [coverLine(request, at)] })),
    ...referredPlaces(request),
    ...request.shown.map((shown) => ({ at: shown.at, lines: [sandboxLine(request, shown)] })),
  ];
  return [rootLine(request), ...places.toSorted((a, b) => comparePaths(a.at, b.at)).flatMap(({ lines }) => lines)];
}

/** Where each of a view that is taken over is already right, but for the processes. */
export function takenOverLines({
  root,
  privileged,
  machine,
}: Pick<ViewRequest, "root" | "privileged" | "machine">): readonly MountLine[] {
  return [
    { source: "/", target: root, type: "none", options: ["rbind"] },
    ...(privileged ? machineLines(root, machine) : []),
  ];
}

function rootLine({ table, privileged, root }: ViewRequest): MountLine {
  if (privileged) return bindLine("/", root, "ro", "nodev", ...flagsAt(table, "/"));
  // Without privilege what is mounted on it comes along or nothing does.
  return { source: "/", target: root, type: "none", options: ["rbind", "ro", ...flagsAt(table, "/")] };
}

function hostPlaces({ table, privileged, root, standIns, hidden, shown }: ViewRequest): readonly Place[] {
  const covered = [...standIns.map(({ at }) => at), ...hidden, ...shown.map(({ at }) => at)];
  return mountsToShow(table, privileged)
    .filter(({ point }) => !covered.some((at) => isAtOrBelow(point, at)))
    .map(({ point }) => {
      const options = [privileged ? "bind" : "rbind", "ro", ...(privileged ? ["nodev"] : []), ...flagsAt(table, point)];
      return { at: point, lines: [{ source: point, target: `${root}${point}`, type: "none", options }] };
    });
}

function procLines({ privileged, root, machine }: ViewRequest): readonly MountLine[] {
  const proc = { source: "proc", target: `${root}/proc`, type: "proc", options: ["nosuid", "nodev", "noexec"] };
  return [proc, ...(privileged ? machineLines(root, machine) : [])];
}

/** Root could change the whole machine through these. */
function machineLines(root: string, { writable, memory }: ViewRequest["machine"]): readonly MountLine[] {
  return [
    ...writable.map((name) =>
      bindLine(`${root}/proc/${name}`, `${root}/proc/${name}`, "ro", "nosuid", "nodev", "noexec"),
    ),
    ...memory.map((name) => bindLine("/dev/null", `${root}/proc/${name}`, "ro")),
  ];
}

function deviceLines({ table, root, skeleton }: ViewRequest): readonly MountLine[] {
  const own = (name: string, type: string, ...options: readonly string[]): MountLine => ({
    source: type,
    target: `${root}/dev/${name}`,
    type,
    options: ["nosuid", "noexec", ...options],
  });
  return [
    bindLine(skeleton.dev, `${root}/dev`, "ro", ...flagsAt(table, skeleton.dev)),
    ...DEVICES.map((name) => bindLine(`/dev/${name}`, `${root}/dev/${name}`)),
    own("pts", "devpts", "newinstance", "ptmxmode=0666", "mode=0620"),
    own("shm", "tmpfs", "nodev", "mode=1777"),
  ];
}

/** What a sandbox refers to can be looked at. In a scratch layer it would look as if it could be changed. */
function referredPlaces({ table, root, shown, scratch }: ViewRequest): readonly Place[] {
  return refersTo(shown)
    .filter((path) => !scratch.some(({ at }) => isAtOrBelow(at, path)))
    .map((path) => {
      const line = bindLine(path, `${root}${path}`, "ro", "nodev", ...flagsAt(table, path));
      return { at: path, lines: [line] };
    });
}

function scratchLine({ root, privileged }: ViewRequest, { at, name }: ScratchLayer): MountLine {
  const layers = `lowerdir=scratch/${name}/lower,upperdir=scratch/${name}/upper,workdir=scratch/${name}/work`;
  // What is renamed here never lands, so it may be done in the way that only root can.
  const dialect = privileged ? ["redirect_dir=on"] : ["userxattr", "redirect_dir=nofollow"];
  const options = ["nodev", layers, "volatile", "metacopy=off", "index=off", ...dialect];
  return { source: "drydock-scratch", target: `${root}${at}`, type: "overlay", options };
}

function standInLine({ table, root }: ViewRequest, { at, folder, writable }: StandIn): MountLine {
  return bindLine(folder, `${root}${at}`, ...(writable ? [] : ["ro"]), "nodev", ...flagsAt(table, folder));
}

function coverLine({ table, root, skeleton }: ViewRequest, at: string): MountLine {
  return bindLine(skeleton.cover, `${root}${at}`, "ro", "nodev", ...flagsAt(table, skeleton.cover));
}

function sandboxLine({ table, root }: ViewRequest, { sandboxId, at: point, view }: Shown): MountLine {
  const target = `${root}${point}`;
  if (view.kind === "place") return bindLine(view.path, target, "nodev", ...flagsAt(table, view.path));
  const at = `layers/${sandboxId}`;
  const lower = view.hidden === undefined ? `${at}/lower` : `${at}/hidden:${at}/lower`;
  const layers = [`lowerdir=${lower}`, `upperdir=${at}/upper`, `workdir=${at}/work`];
  const options = ["nodev", ...layers, "userxattr", "volatile", "redirect_dir=nofollow", "metacopy=off", "index=off"];
  return { source: view.source, target, type: "overlay", options };
}

/**
 * Where the programs that put a command inside, and what they load, come from. They still have their privileges when the sandboxes are in place, so a
 * command that could change these for the next one would be out.
 */
const LOADED_FROM = [
  "/etc/ld.so.preload",
  "/bin",
  "/sbin",
  "/lib",
  "/lib64",
  "/usr/bin",
  "/usr/sbin",
  "/usr/lib",
  "/usr/lib64",
];

/** Some places are made anew for the command, so nothing of the host's can be shown there; others must be the host's. */
function assertShowable(at: string): void {
  const trusted = LOADED_FROM.find((path) => isAtOrBelow(path, at) || isAtOrBelow(at, path));
  if (trusted !== undefined)
    throw new UnsupportedError(
      `A command can't be run with ${displayPath(at)} in a sandbox: it could replace what starts the next one.`,
      {
        hint: "Work on it with 'drydock plan path', 'plan read' and 'plan write', or choose a folder further down.",
      },
    );
  const taken = ["/proc", "/sys", "/dev"].find((own) => isAtOrBelow(at, own));
  if (taken === undefined || isAtOrBelow(at, "/dev/shm")) return;
  throw new UnsupportedError(`${displayPath(at)} can't be shown to a command: ${taken} is made anew for it.`, {
    hint: "Use a folder elsewhere.",
  });
}
