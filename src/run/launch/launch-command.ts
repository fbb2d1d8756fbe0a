import { messageOf, SystemCallError } from "../../core/errors/errors.ts";
import { failedWith } from "../../system/calls/errno.ts";
import { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { become, limitOpenFiles } from "../../system/launch/become.ts";
import { makePoint, replaceLink } from "../../system/launch/entries.ts";
import { HidingLayers } from "../../system/launch/hiding-layer.ts";
import { listenAt, makeOwnNetwork, newSocket } from "../../system/launch/own-network.ts";
import { openOwnTerminal, ownSession } from "../../system/launch/own-terminal.ts";
import { type Capability, keepOnly, leaveAbstractSockets } from "../../system/launch/privileges.ts";
import { reopenReadOnly } from "../../system/launch/read-only-input.ts";
import { redirect, writeLine } from "../../system/launch/streams.ts";
import {
  GONE,
  GONE_OR_BEHIND_A_LINK,
  joinMounts,
  ownMounts,
  ViewRoot,
} from "../../system/launch/view-root.ts";
import { mountPrivately } from "../../system/mount/overlay-mount.ts";
import { passDescriptor } from "../../system/process/passed-descriptor.ts";
import { filterWith, startSupervisor, type WaitingSupervisor } from "../call-supervisor/call-supervisor.ts";
import {
  DESCRIPTORS,
  type LaunchSpec,
  type OwnNetwork,
  UNGUARDED,
  type ViewLayers,
  type ViewSpec,
  type ViewStep,
} from "./launch-spec.ts";

/**
 * Capabilities that a command run by root keeps: those that programs need to manage files and users. None
 * reaches the kernel, devices, other processes or foreign packets. The first process keeps one more than the
 * command, mostly `wake_alarm`, which is of no use to it: a process can't trace another one that has a
 * capability it lacks.
 */
export const ROOT_KEEPS: readonly Capability[] = [
  ...(["chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap"] as const),
  ...(["net_bind_service", "sys_chroot", "mknod", "audit_write", "setfcap", "wake_alarm"] as const),
];

/** It may read the memory of every process of the command, whatever user that has become. */
const SUPERVISOR_KEEPS: readonly Capability[] = [...ROOT_KEEPS, "sys_ptrace"];

/** Needed to map root of the first user namespace into a second one, where the command is the user again. */
const USER_KEEPS: readonly Capability[] = ["setfcap"];

/**
 * Becomes the first process of a command's namespaces, in one thread and in this order:
 *
 * 1. Take mounts of its own, or join those of another command; and a network of its own, if it gets one.
 * 2. Build the new root by descriptors, through no link that another process could have put there.
 * 3. Connect the terminal and the standard streams.
 * 4. Make the new root the root. From here on only what the view shows can be reached.
 * 5. Give up all privileges and install the filter of system calls, with a supervisor where overlays can't
 *    rename folders, or servers are to be guarded.
 * 6. Load the shell of the view, which starts the command.
 *
 * Any failure is thrown; then no command has started.
 */
export function launchCommand(spec: ViewSpec): never {
  ownSession();
  orNoMounts(ownMounts);
  if (spec.network !== undefined) orNoMounts(makeOwnNetwork);
  const input = spec.inputFile === undefined ? undefined : reopenReadOnly(0, spec.inputFile);
  const root = spec.joins === undefined ? orNoMounts(() => newRoot(spec)) : joinedRoot(spec.joins);
  for (const step of spec.steps) perform(root, step);
  connectStreams((flags) => root.openFile("/dev/pts/ptmx", flags), spec, input);
  if (spec.channel !== undefined) pass(root.socket(spec.channel.folder, spec.channel.name));
  if (spec.network !== undefined) passDoors(spec.network);
  root.enter();
  if (spec.openFiles !== undefined) limitOpenFiles(spec.openFiles);
  if (spec.noAbstractSockets) leaveAbstractSockets();
  const { privileged, guards = [] } = spec;
  const keeps = privileged ? SUPERVISOR_KEEPS : [];
  // As root it needs a right that is given up next; without privilege it must not have those that are left.
  const early = privileged ? startSupervisor({ renames: false, guards, keeps }) : undefined;
  keepOnly(privileged ? ROOT_KEEPS : USER_KEEPS);
  const supervisor = early ?? startSupervisor({ renames: true, guards, keeps });
  const isSupervised = filterWith(supervisor, !privileged);
  if (guards.length > 0) tellGuard(supervisor, isSupervised);
  const { shell, environment, cwd } = spec;
  become({ ...shell, environment, cwd, descriptors: [DESCRIPTORS.control] });
}

/** Gives Drydock the socket by which the supervisor tells what the command wanted, or says that none does. */
function tellGuard({ socket }: WaitingSupervisor, isSupervised: boolean): void {
  if (isSupervised && socket !== undefined) pass(socket);
  else writeLine(DESCRIPTORS.control, `weaker ${UNGUARDED}`);
}

/**
 * This process may not mount, or make a network. Nothing of the plan had a part in that, so no earlier
 * command can bring it about.
 */
export class NoMountsError extends Error {}

function orNoMounts<T>(mount: () => T): T {
  try {
    return mount();
  } catch (thrown) {
    throw failedWith(thrown, "EPERM", "EACCES") ? new NoMountsError(messageOf(thrown)) : thrown;
  }
}

/** The whole host, read-only. Without privilege its mounts can only be copied all together. */
function newRoot({ privileged }: ViewSpec): ViewRoot {
  return ViewRoot.of(!privileged, { readOnly: true, ...(privileged && { noDevices: true }) });
}

/** The view of another command needs no changes but a new /proc. */
function joinedRoot(pid: number): ViewRoot {
  joinMounts(pid);
  ownMounts();
  return ViewRoot.of(true, {});
}

function perform(root: ViewRoot, step: ViewStep): void {
  switch (step.step) {
    case "bind":
      ifThere(step, () => root.bind(step.from, step.at, step.flags));
      return;
    case "self-bind":
      ifThere(step, () => root.bindToItself(step.at, step.flags));
      return;
    case "system":
      systemOrHost(root, step);
      return;
    case "memory":
      ifThere(step, () => root.memory(step.at, step.entries));
      return;
    case "cover":
      root.cover(step.at, step.entries);
      return;
    case "overlay":
      mountOrHide(root, step);
      return;
    case "point":
      makePoint(root, step.at, step.isFile);
      return;
    case "link":
      replaceLink(root, step.at, step.to);
      return;
  }
}

/**
 * A container covers parts of its /proc, and the kernel then lets no user namespace mount one without such
 * covers.
 */
function systemOrHost(root: ViewRoot, step: ViewStep & { readonly step: "system" }): void {
  const { type, at, settings, flags, orHost } = step;
  try {
    root.system(type, at, settings, flags);
  } catch (thrown) {
    if (orHost !== true || !failedWith(thrown, "EPERM")) throw thrown;
    root.bindWithMounts(at, flags);
    writeLine(DESCRIPTORS.control, `weaker ${at}`);
  }
}

function mountOrHide(root: ViewRoot, { at, layers, orHide }: ViewStep & { readonly step: "overlay" }): void {
  try {
    mountLayers(root, at, layers);
  } catch (thrown) {
    if (orHide !== true || !(thrown instanceof SystemCallError)) throw thrown;
    unlessGone(() => root.memory(at, []));
  }
}

function ifThere(step: { readonly ifThere?: true }, mount: () => void): void {
  if (step.ifThere) unlessGone(mount, GONE_OR_BEHIND_A_LINK);
  else mount();
}

/** Skips a mount whose source another process has just unmounted or removed. */
function unlessGone(mount: () => void, codes = GONE): void {
  try {
    mount();
  } catch (thrown) {
    if (!failedWith(thrown, ...codes)) throw thrown;
  }
}

const hiding = new HidingLayers();

function mountLayers(root: ViewRoot, at: string, { source, kind, ...paths }: ViewLayers): void {
  using opened = new DisposableStack();
  const open = (path: string) => opened.use(Folder.open(path));
  const lower = open(paths.lower);
  const target = opened.use(new Folder(root.open(at), at));
  const missing = paths.without === undefined ? undefined : opened.use(hiding.over(lower, paths.without));
  const hidden = paths.hidden === undefined ? missing : open(paths.hidden);
  if (paths.upper !== undefined && paths.work !== undefined) {
    const layers = { lower, upper: open(paths.upper), work: open(paths.work) };
    mountPrivately({ ...layers, ...(hidden !== undefined && { hidden }) }, target, source, kind);
    return;
  }
  // Without an upper layer an overlay needs two lower ones, and looks like the topmost.
  const two = hidden === undefined ? { hidden: lower, lower: opened.use(hiding.empty()) } : { hidden, lower };
  mountPrivately(two, target, source, kind);
}

/** Passes the sockets of the command's network that Drydock works with. */
function passDoors({ proxyPort, sockets = [] }: OwnNetwork): void {
  if (proxyPort !== undefined) pass(listenAt(proxyPort));
  for (const version of sockets) pass(newSocket(version));
}

function pass(fd: number): void {
  passDescriptor(DESCRIPTORS.passing, fd);
  closeFile(fd);
}

/** Connects standard error, a file at standard input that was opened again, and the command's terminal. */
export function connectStreams(
  openTerminals: (flags: number) => number,
  { terminal }: Pick<LaunchSpec, "terminal">,
  input: number | undefined,
): { readonly inner: number } | undefined {
  redirect(DESCRIPTORS.errors, 2);
  if (input !== undefined) {
    // Drydock's own standard input follows how far the command reads this file.
    passDescriptor(DESCRIPTORS.passing, input);
    redirect(input, 0);
  }
  if (terminal === undefined) return undefined;
  const { outer, inner } = openOwnTerminal(openTerminals, terminal);
  passDescriptor(DESCRIPTORS.passing, outer);
  for (const stream of terminal.streams) redirect(inner, stream);
  closeFile(outer);
  return { inner };
}
