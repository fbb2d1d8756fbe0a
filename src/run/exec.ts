import type { PlanRecord } from "../core/plan.ts";
import type { LimitName, Limits } from "../core/values/limits.ts";

/** A command to run inside a plan. */
export interface ExecRequest {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /**
   * Where it starts. Default: the current folder if it is in a resource of the plan, else the first of these.
   */
  readonly cwd?: string;
  /** Whether it may use the network. Default: yes. */
  readonly network?: boolean;
  /**
   * Nothing but the resources and a private temporary folder is writable, and sockets of daemons are not
   * seen.
   */
  readonly strict?: boolean;
  /** What it may use, with everything it starts. Each overrides that of `sandbox.limits`. */
  readonly limits?: Limits;
  /** Whether the plan may be saved before, as `sandbox.checkpoint` says. Default: yes. */
  readonly checkpoint?: boolean;
  /** Where its standard output goes. Default: ours. */
  readonly stdout?: "inherit" | "stderr";
  /** Called when it is up, with what one can do about it. */
  readonly onStart?: (running: RunningCommand) => void;
}

export interface RunningCommand {
  /** Sends it a signal. */
  signal(name: NodeJS.Signals): void;
}

/** How a command ended. */
export interface ExecResult {
  readonly planId: string;
  /**
   * Its own; 128 and the number of the signal that ended it; 127 if there is no such command, 126 if it can't
   * be started.
   */
  readonly exitCode: number;
  /** The limit that it met: it was ended for that, or could not start more processes. */
  readonly limit?: LimitName;
  /** What it wrote outside the plan's resources. It does not land. */
  readonly scratch: { readonly files: number };
}

/** The command as a person would write it, for messages. */
export function commandText(command: readonly string[]): string {
  const text = command.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `"${word}"`)).join(" ");
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/** Resources that are paths. */
export function pathsOf(plan: PlanRecord): readonly string[] {
  return plan.resources
    .map(({ resource }) => resource.location)
    .filter((location) => location.startsWith("/"));
}
