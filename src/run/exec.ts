import { constants } from "node:os";
import { InterruptedError, PlanStateError, UsageError } from "../core/errors/errors.ts";
import { isAtOrBelow, parentPath } from "../core/paths/byte-path.ts";
import type { PlanRecord, PlanResource } from "../core/plan.ts";
import type { LimitName, Limits } from "../core/values/limits.ts";
import type { DeniedRequest, ProfileName } from "../core/values/run-policy.ts";
import { inUse, type Use } from "../sandboxes/remains/uses.ts";
import type { OutsideSummary } from "../sandboxes/scratch/outside-places.ts";
import { factsOfPath } from "../system/data/locations.ts";
import type { CommandStreams } from "../system/terminal/command-streams.ts";
import type { NetworkWish } from "./policy/network-policy.ts";

/** A command to run inside a plan. */
export interface ExecRequest {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /**
   * Where the command starts. Default: the current folder if it is in a resource of the plan, else the first
   * resource that is a folder.
   */
  readonly cwd?: string;
  /** Variables for the command, beside and instead of those that it would have. */
  readonly environment?: { readonly [name: string]: string };
  /** Aborting it ends the command: SIGTERM first, and SIGKILL after five seconds. */
  readonly signal?: AbortSignal;
  /**
   * What the command may reach: nothing (also `false`), all that its user can, or these names, addresses and
   * groups, as in `run.network.allow`. Default, and with `true`: what the policy says.
   */
  readonly network?: boolean | NetworkWish;
  /**
   * Ports of this machine that lead to servers of the command, `[HOST:]PORT[:INSIDE]` each: HOST is
   * 127.0.0.1 unless said, PORT 0 any that is free, INSIDE that of the server. Only for a command with a
   * network of its own.
   */
  readonly publish?: readonly string[];
  /** Only the resources and a private temporary folder are writable, and sockets of daemons are hidden. */
  readonly strict?: boolean;
  /**
   * Built-in policies for the command, instead of those that configs name. "automatic": if they name none,
   * that of the program, by its name. Default: only those that configs name.
   */
  readonly profiles?: readonly ProfileName[] | "automatic";
  /**
   * Runs the command even where this machine has nothing to confine it with: then it can change everything
   * that its user can. Default: it is refused there.
   */
  readonly unconfined?: boolean;
  /** Limits of the command with everything it starts. Each overrides the one in `sandbox.limits`. */
  readonly limits?: Limits;
  /** Whether to save a checkpoint first, as `sandbox.checkpoint` says. Default: yes. */
  readonly checkpoint?: boolean;
  /** Where the command's standard output goes. Default: to ours. */
  readonly stdout?: "inherit" | "stderr";
  /** Called when the command is up. */
  readonly onStart?: (running: RunningCommand) => void;
}

/** How a command starts, beside what its caller asks for. */
export interface StartRequest extends ExecRequest {
  /** Gives it other streams than those of this process. */
  readonly openStreams?: () => CommandStreams;
  /** It goes on without a terminal of the user's. Only one such command runs in a plan at a time. */
  readonly detached?: boolean;
}

export interface RunningCommand {
  /** Sends a signal to the command. */
  signal(name: NodeJS.Signals): void;
}

/** A command that was started. */
export interface StartedCommand extends RunningCommand {
  readonly planId: string;
  /** Its id in the history of the plan. */
  readonly exec: string;
  /** Ends the command at once, with everything that it started. */
  kill(): void;
  /** How it ended. Also resolves if it was made to end, by whatever. */
  readonly ended: Promise<ExecResult>;
}

/** How a command ended. */
export interface ExecResult {
  readonly planId: string;
  /**
   * The command's own; 128 plus the number of the signal that ended it; 127 if there is no such command, 126
   * if it can't be started.
   */
  readonly exitCode: number;
  /** The signal that ended it, as a shell tells it: by an exit code above 128. */
  readonly signal?: NodeJS.Signals;
  /** From when the command was up until it had ended. */
  readonly durationMs: number;
  /** The caller aborted it. */
  readonly aborted?: true;
  /** The limit that the command met: it was ended for that, or could not start more processes. */
  readonly limit?: LimitName;
  /** What the command asked for on the network and was not allowed to reach, some of it. */
  readonly denied?: readonly DeniedRequest[];
  /** What the command wrote outside the plan's resources. It does not land. */
  readonly scratch: OutsideSummary;
}

/** The signal that an exit code of a shell tells. */
export function signalOf(exitCode: number): NodeJS.Signals | undefined {
  const found = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128);
  return found?.[0] as NodeJS.Signals | undefined;
}

/** The command as a person would write it, for messages. */
export function commandText(command: readonly string[]): string {
  const text = command.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `"${word}"`)).join(" ");
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/** Refuses the result of a command that its caller aborted, whatever its exit code. */
export function assertNotAborted({ aborted }: ExecResult): void {
  if (aborted === true) throw new InterruptedError("The command was ended: its caller aborted it.");
}

export function assertCommand([program]: readonly string[]): void {
  if (program !== undefined) return;
  throw new UsageError("There is no command to run.", { hint: "Give a program, and its arguments." });
}

/** A plan, or what it would be made over. */
export type Located = { readonly resources: readonly Pick<PlanResource, "resource">[] };

export function assertUsable(plan: PlanRecord): void {
  if (plan.readOnly) {
    throw new UsageError(`The plan ${plan.name} is read-only, and a command could write.`, {
      code: "READ_ONLY",
    });
  }
  if (plan.state !== "open") throw new PlanStateError(plan, "open");
}

/** Refuses a second detached command: users attach to the one of a plan. */
export function assertOneDetached(
  plan: PlanRecord,
  { detached }: StartRequest,
  others: readonly Use[],
): void {
  const other = others.find((use) => use.detached !== undefined);
  if (detached === true && other !== undefined)
    throw inUse(plan, other, "and a plan has only one such command");
}

/** The locations of resources that are paths. */
export function pathsOf({ resources }: Located): readonly string[] {
  return resources.map(({ resource }) => resource.location).filter((location) => location.startsWith("/"));
}

/** Where a command starts: in the current folder, if that is in the plan, else in the plan's first folder. */
export function startFolder(plan: PlanRecord, cwd: string): string {
  const paths = pathsOf(plan);
  if (paths.some((path) => isAtOrBelow(cwd, path))) return cwd;
  const folder = paths.find((path) => factsOfPath(path)?.kind === "directory");
  return folder ?? (parentPath(paths[0] ?? "/") || "/");
}
