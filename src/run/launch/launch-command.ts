import { SystemCallError } from "../../core/errors/errors.ts";
import { failedWith } from "../../system/calls/errno.ts";
import { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { become, limitOpenFiles } from "../../system/launch/become.ts";
import { makePoint, replaceLink } from "../../system/launch/entries.ts";
import { HidingLayers } from "../../system/launch/hiding-layer.ts";
import { raiseLoopback } from "../../system/launch/loopback.ts";
import { openOwnTerminal, ownSession } from "../../system/launch/own-terminal.ts";
import {
  type Capability,
  filterCalls,
  keepOnly,
  leaveAbstractSockets,
} from "../../system/launch/privileges.ts";
import { reopenReadOnly } from "../../system/launch/read-only-input.ts";
import { redirect } from "../../system/launch/streams.ts";
import { joinMounts, ownMounts, ViewRoot } from "../../system/launch/view-root.ts";
import { mountPrivately } from "../../system/mount/overlay-mount.ts";
import { passDescriptor } from "../../system/process/passed-descriptor.ts";
import { DESCRIPTORS, type LaunchSpec, type ViewLayers, type ViewStep } from "./launch-spec.ts";

/**
 * What root keeps: what programs that manage files and users need, and nothing that reaches the kernel,
 * devices, other processes or others' packets. The first process has one more than the command, `wake_alarm`,
 * which is of no use to it: a process can't trace one that may do more than itself.
 */
const ROOT_KEEPS: readonly Capability[] = [
  ...(["chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap"] as const),
  ...(["net_bind_service", "sys_chroot", "mknod", "audit_write", "setfcap", "wake_alarm"] as const),
];

/** To be oneself again in a second user namespace, one has to be allowed to name the root of the first. */
const USER_KEEPS: readonly Capability[] = ["setfcap"];

/**
 * Becomes the first process of a command's namespaces. All of it happens in one thread, in this order:
 *
 * 1. mounts of its own, or those of the command that is joined;
 * 2. the new root, by descriptors, through no link that anybody could have put there;
 * 3. the terminal and the standard streams;
 * 4. the new root becomes the root; from here on nothing of the host can be reached but what is shown;
 * 5. all privileges go, and the filter of system calls comes;
 * 6. only now something of the view is loaded: the shell that starts the command.
 *
 * Whatever fails is thrown, and then nothing was started.
 */
export function launchCommand(spec: LaunchSpec): never {
  ownSession();
  ownMounts();
  const input = spec.inputFile === undefined ? undefined : reopenReadOnly(0, spec.inputFile);
  const root = spec.joins === undefined ? newRoot(spec) : joinedRoot(spec.joins);
  for (const step of spec.steps) perform(root, step);
  connectStreams(root, spec, input);
  root.enter();
  if (spec.ownNetwork) raiseLoopback();
  if (spec.openFiles !== undefined) limitOpenFiles(spec.openFiles);
  if (spec.noAbstractSockets) leaveAbstractSockets();
  keepOnly(spec.privileged ? ROOT_KEEPS : USER_KEEPS);
  filterCalls({ mayNestUsers: !spec.privileged });
  const { shell, environment, cwd } = spec;
  become({ ...shell, environment, cwd, descriptors: [DESCRIPTORS.control] });
}

/**
 * Everything of the host, read-only. Without privilege what is mounted in it comes along, or nothing does.
 */
function newRoot({ privileged }: LaunchSpec): ViewRoot {
  return ViewRoot.of(!privileged, { readOnly: true, ...(privileged && { noDevices: true }) });
}

/** What is mounted in the view of another command is right already, but for the processes. */
function joinedRoot(pid: number): ViewRoot {
  joinMounts(pid);
  ownMounts();
  return ViewRoot.of(true, {});
}

function perform(root: ViewRoot, step: ViewStep): void {
  switch (step.step) {
    case "bind":
      if (step.ifThere) unlessGone(() => root.bind(step.from, step.at, step.flags));
      else root.bind(step.from, step.at, step.flags);
      return;
    case "self-bind":
      root.bindToItself(step.at, step.flags);
      return;
    case "system":
      root.system(step.type, step.at, step.settings, step.flags);
      return;
    case "memory":
      root.memory(step.at, step.entries);
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

function mountOrHide(root: ViewRoot, { at, layers, orHide }: ViewStep & { readonly step: "overlay" }): void {
  try {
    mountLayers(root, at, layers);
  } catch (thrown) {
    if (orHide !== true || !(thrown instanceof SystemCallError)) throw thrown;
    unlessGone(() => root.memory(at, []));
  }
}

/** What another process has just unmounted or removed needs not be shown. */
function unlessGone(mount: () => void): void {
  try {
    mount();
  } catch (thrown) {
    if (!failedWith(thrown, "ENOENT", "ENOTDIR", "ESTALE", "ENOTCONN")) throw thrown;
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
  // Without an upper layer an overlay needs two others, and looks like the one on top.
  const two = hidden === undefined ? { hidden: lower, lower: opened.use(hiding.empty()) } : { hidden, lower };
  mountPrivately(two, target, source, kind);
}

function connectStreams(root: ViewRoot, { terminal }: LaunchSpec, input: number | undefined): void {
  redirect(DESCRIPTORS.errors, 2);
  if (input !== undefined) {
    // How far the command reads it is how far Drydock's own standard input is read.
    passDescriptor(DESCRIPTORS.passing, input);
    redirect(input, 0);
  }
  if (terminal === undefined) return;
  const { outer, inner } = openOwnTerminal(root, terminal);
  passDescriptor(DESCRIPTORS.passing, outer);
  for (const stream of terminal.streams) redirect(inner, stream);
  closeFile(outer);
}
