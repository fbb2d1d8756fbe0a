import { systemProgram } from "../../../system/process/programs.ts";
import { runProcess } from "../../../system/process/run-process.ts";
import type { Program } from "../../../system/process/start-process.ts";

/** Servers refuse to run as root. Any other user will do: outside it is still the one that started it. */
const NOT_ROOT = 65534;
const ANSWER_MS = 10_000;

/**
 * Runs a program in a network namespace of its own, in which there is nothing, not even a loopback that is
 * up: a clone reaches no server, whatever the database that it was made from has stored. The user namespace
 * around it needs no privilege, and makes root look like another user.
 */
export function withoutNetwork({ file, args, ...rest }: Program): Program {
  const [user, group] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0];
  const map = [`--map-user=${user === 0 ? NOT_ROOT : user}`, `--map-group=${group === 0 ? NOT_ROOT : group}`];
  return { ...rest, file: unshareProgram(), args: ["--user", ...map, "--net", "--", file, ...args] };
}

/** Why programs can't run without a network here; undefined if they can. */
export async function whyNotWithoutNetwork(): Promise<string | undefined> {
  if (systemProgram("unshare") === undefined) return "the program unshare is missing";
  const truth = systemProgram("true") ?? "/bin/true";
  const { code, stderr } = await runProcess(withoutNetwork({ file: truth, args: [] }), {
    limitMs: ANSWER_MS,
  });
  return code === 0
    ? undefined
    : `a server without a network can't be started here: ${stderr.trim() || `unshare ended with ${code}`}`;
}

function unshareProgram(): string {
  return systemProgram("unshare") ?? "unshare";
}
