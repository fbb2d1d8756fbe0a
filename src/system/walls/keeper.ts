import { constants } from "node:os";
import { startProcess } from "../process/start-process.ts";
import { adoptOrphans, endDescendants, exitAtOnce, reapAdopted } from "./adopted-processes.ts";

/** Descriptors that the kept process gets under their own numbers: run/launch/launch-spec.ts. */
const HANDED = [0, 1, 2, 3, 4, 5];
/** Signals of a terminal or a session are for the command, which Drydock passes them on to. */
const IGNORED = ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP"] as const;

/** The signal that ends a keeper with everything that it keeps. */
export const END_SIGNAL = "SIGUSR2";

/**
 * Starts this program once more, without its last argument, and stays its parent: where a command has no
 * process ids of its own, the kernel does not end what the command leaves running, so the keeper does. It is
 * outside of the command's walls. Ends with the exit code of that process.
 */
export function keep(environment: NodeJS.ProcessEnv): void {
  adoptOrphans();
  const args = [...process.execArgv, ...process.argv.slice(1, -1)];
  const kept = startProcess({ file: process.execPath, args, environment: exact(environment) }, HANDED);
  for (const signal of IGNORED) process.on(signal, () => undefined);
  process.on(END_SIGNAL, () => kept.kill("SIGKILL"));
  process.on("SIGCHLD", () => {
    if (kept.pid !== undefined) reapAdopted(kept.pid);
  });
  kept.once("exit", async (code, signal) => {
    await endDescendants();
    exitAtOnce(code ?? 128 + constants.signals[signal ?? "SIGKILL"]);
  });
}

function exact(environment: NodeJS.ProcessEnv): { readonly [name: string]: string } {
  const set = Object.entries(environment).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  return Object.fromEntries(set);
}
