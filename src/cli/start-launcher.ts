import type { CommandKind } from "../run/launch/launcher.ts";
import { armFailpoints } from "../system/failpoints.ts";
import type { CommandContext } from "./command-context.ts";

/** Starts the launcher while Drydock itself is still loading, which takes about as long. */
export async function startLauncher(
  { environment }: CommandContext,
  kind: CommandKind,
): Promise<Disposable | undefined> {
  // On other platforms, opening Drydock fails with a better message.
  if (process.platform !== "linux") return undefined;
  armFailpoints(environment["DRYDOCK_FAILPOINT"], environment["DRYDOCK_FAILPOINT_TRACE"]);
  const { startAhead } = await import("../run/launch/launcher.ts");
  return startAhead(kind);
}
