import type { CommandKind } from "../run/launch/launcher.ts";
import { armFailpoints } from "../system/failpoints.ts";
import type { CommandContext } from "./command-context.ts";

/** Starts what a command needs before Drydock itself is loaded and open, which takes about as long. */
export async function startLauncher(
  { environment }: CommandContext,
  kind: CommandKind,
): Promise<Disposable | undefined> {
  // Where nothing can be run, opening Drydock says so better.
  if (process.platform !== "linux") return undefined;
  armFailpoints(environment["DRYDOCK_FAILPOINT"], environment["DRYDOCK_FAILPOINT_TRACE"]);
  const { startAhead } = await import("../run/launch/launcher.ts");
  return startAhead(kind);
}
