import { displayPath } from "../core/byte-path.ts";
import { UnsupportedError } from "../core/errors.ts";
import { ensureFolder, removeTree } from "../files/remove-tree.ts";
import { failpoint } from "../system/failpoints.ts";
import { writeBytes } from "../system/file-data.ts";
import type { Folder } from "../system/folder.ts";
import { closeFile, rewindFile } from "../system/handles.ts";
import { IsolatedProcess } from "../system/isolated-process.ts";
import { machineEntries } from "../system/kernel-entries.ts";
import type { MountTable } from "../system/mount-table.ts";
import type { CommandEnvironment } from "./environment.ts";
import { type Launch, launchArguments, launchScript } from "./launch-script.ts";
import { type MountLine, mountTableFile } from "./mount-line.ts";
import { prepareScratch, type ScratchLayer } from "./scratch.ts";
import { mounted, type Shown } from "./shown.ts";
import type { Skeleton } from "./skeleton.ts";
import { isOpened, makeStandIns, openHidden } from "./stand-ins.ts";
import { findTools } from "./tools.ts";
import { takenOverLines, viewLines } from "./view.ts";

const POINTS = {
  start: failpoint("run.start"),
  script: failpoint("run.script"),
  layers: failpoint("run.layers"),
  own: failpoint("run.own"),
};

/** What is started, and what it sees. */
export interface LaunchRequest {
  /** The plan's folder. */
  readonly folder: Folder;
  readonly useId: string;
  readonly stateDir: string;
  /** Whether we may mount as we like. */
  readonly privileged: boolean;
  /** What is mounted on the host. */
  readonly table: MountTable;
  readonly skeleton: Skeleton;
  readonly shown: readonly Shown[];
  readonly hidden: readonly string[];
  readonly scratch: readonly ScratchLayer[];
  readonly strict: boolean;
  readonly network: boolean;
  /** A process whose view is to be taken over, because it has mounted what can be mounted only once. */
  readonly joins?: number;
  readonly cwd: string;
  readonly command: readonly string[];
  readonly environment: CommandEnvironment;
  readonly stdout: "inherit" | "stderr";
}

/** Starts a command. It is up when this returns; what could not be mounted is an error, and then nothing is running. */
export async function launch(request: LaunchRequest): Promise<IsolatedProcess> {
  const { folder, joins, skeleton, stateDir, environment, privileged } = request;
  const plan: Launch = {
    tools: findTools(),
    privileged,
    user: { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 },
    network: request.network,
    ...(joins !== undefined && { joins }),
    folder: joins === undefined ? folder.path : "/",
    root: joins === undefined ? skeleton.root : `${stateDir}/root`,
    cwd: request.cwd,
    command: request.command,
    links: joins === undefined ? request.shown.flatMap(({ link }) => link ?? []) : [],
    variables: environment.exact,
    locale: environment.plain["LC_ALL"],
  };
  const lines =
    joins === undefined
      ? newView(request)
      : takenOverLines({ root: plan.root, privileged: request.privileged, machine: machineEntries() });
  const running = start(folder, plan, lines, request);
  const report = await running.started;
  if (report.ready) return running;
  await running.ended;
  throw startFailure(report.said);
}

/** Removes what was made for one command. */
export function removeOwnFolder(folder: Folder, useId: string): void {
  removeTree(POINTS.own, folder, ownName(useId));
}

function newView(request: LaunchRequest): readonly MountLine[] {
  const { folder, useId, strict, hidden, scratch, skeleton } = request;
  const shown = mounted(request.shown);
  prepareScratch(folder, scratch);
  linkLayers(folder, shown);
  using own = ensureFolder(POINTS.own, folder, ownName(useId));
  const needs = { folder: own, plan: folder, scratch, strict, shown, hidden };
  const opened = hidden.filter((at) => isOpened(at, shown));
  const standIns = [...makeStandIns(needs), ...opened.map((at) => openHidden(needs, at))];
  const { table } = request;
  const view = {
    table,
    privileged: request.privileged,
    root: skeleton.root,
    skeleton,
    scratch,
    standIns,
    hidden: hidden.filter((at) => !opened.includes(at)),
    shown,
  };
  return viewLines({ ...view, machine: machineEntries() });
}

/** An option of a mount is no place for any name there is, so the layers are reached by links. */
function linkLayers(folder: Folder, shown: readonly Shown[]): void {
  removeTree(POINTS.layers, folder, "layers");
  for (const { sandboxId, view } of shown) {
    if (view.kind !== "layers") continue;
    using layers = ensureFolder(POINTS.layers, folder, "layers");
    using links = ensureFolder(POINTS.layers, layers, sandboxId);
    for (const name of ["lower", "hidden", "upper", "work"] as const) {
      const folder = view[name];
      if (folder !== undefined) links.createLink(POINTS.layers, name, folder);
    }
  }
}

function start(folder: Folder, plan: Launch, lines: readonly MountLine[], request: LaunchRequest): IsolatedProcess {
  const script = nameless(folder, launchScript(plan));
  const table = nameless(folder, mountTableFile(lines));
  try {
    return IsolatedProcess.start(POINTS.start, {
      ...launchArguments(plan),
      script,
      table,
      // Messages that we may have to show or read are in one language.
      environment: { ...request.environment.plain, LC_ALL: "C" },
      stdout: request.stdout,
    });
  } finally {
    closeFile(script);
    closeFile(table);
  }
}

function nameless(folder: Folder, bytes: Buffer): number {
  const fd = folder.createNameless(POINTS.script);
  writeBytes(POINTS.script, fd, bytes, folder.path);
  rewindFile(fd, folder.path);
  return fd;
}

function ownName(useId: string): string {
  return `own-${useId}`;
}

/** What the programs said that were to put the view together. */
function startFailure(said: string): UnsupportedError {
  const lines = said.split("\n").map((line) => line.trim().replace(/\.$/, ""));
  const why = lines
    .filter((line) => line !== "" && !line.startsWith("dmesg(1)"))
    .map(displayPath)
    .join("; ");
  const denied = /^(?:unshare|nsenter|setpriv): |Operation not permitted|denied/im.test(said);
  return new UnsupportedError(`The command could not be put inside: ${why || "a program of the system failed"}.`, {
    hint: denied
      ? "This machine does not allow it; 'drydock doctor' says more. Run as root, or work on the sandbox with 'drydock plan path'."
      : "Nothing was run. If it is about a scratch layer, --strict does without; 'drydock doctor' says more.",
  });
}
