import type { PlanRecord } from "../core/plan.ts";
import type { LimitName, Limits } from "../core/values/limits.ts";

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
  /** Whether the command may use the network. Default: yes. */
  readonly network?: boolean;
  /** Only the resources and a private temporary folder are writable, and sockets of daemons are hidden. */
  readonly strict?: boolean;
  /** Limits of the command with everything it starts. Each overrides the one in `sandbox.limits`. */
  readonly limits?: Limits;
  /** Whether to save a checkpoint first, as `sandbox.checkpoint` says. Default: yes. */
  readonly checkpoint?: boolean;
  /** Where the command's standard output goes. Default: to ours. */
  readonly stdout?: "inherit" | "stderr";
  /** Called when the command is up. */
  readonly onStart?: (running: RunningCommand) => void;
}

export interface RunningCommand {
  /** Sends a signal to the command. */
  signal(name: NodeJS.Signals): void;
}

/** How a command ended. */
export interface ExecResult {
  readonly planId: string;
  /**
   * The command's own; 128 plus the number of the signal that ended it; 127 if there is no such command, 126
   * if it can't be started.
   */
  readonly exitCode: number;
  /** The limit that the command met: it was ended for that, or could not start more processes. */
  readonly limit?: LimitName;
  /** Files that the command wrote outside the plan's resources. They do not land. */
  readonly scratch: { readonly files: number };
}

/** The command as a person would write it, for messages. */
export function commandText(command: readonly string[]): string {
  const text = command.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `"${word}"`)).join(" ");
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/** The locations of resources that are paths. */
export function pathsOf(plan: PlanRecord): readonly string[] {
  return plan.resources
    .map(({ resource }) => resource.location)
    .filter((location) => location.startsWith("/"));
}
