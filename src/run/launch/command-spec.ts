import { mayMountOnMachine, spareCapability } from "../../system/mount/privilege.ts";
import { inheritedFileLimit } from "../../system/process/processes.ts";
import type { CommandEnvironment } from "../environment.ts";
import type { OwnProcessLimit } from "../limits/command-limits.ts";
import type { OwnNetwork, ViewSpec, ViewStep } from "./launch-spec.ts";
import type { CommandLauncher, CommandSpec } from "./launcher.ts";
import { startScript } from "./start-script.ts";

/** A command, and where it starts. */
export interface CommandRequest {
  readonly steps: readonly ViewStep[];
  readonly joins?: number;
  readonly cwd: string;
  readonly command: readonly string[];
  readonly environment: CommandEnvironment;
  readonly strict: boolean;
  readonly network?: OwnNetwork | undefined;
  readonly guards?: ViewSpec["guards"];
  readonly channel?: ViewSpec["channel"] | undefined;
  readonly processLimit?: OwnProcessLimit | undefined;
}

/** What Drydock tells the launcher about a command. */
export function commandSpec({ tools, terminal }: CommandLauncher, request: CommandRequest): CommandSpec {
  const { steps, joins, cwd, command, environment, strict, network, channel, processLimit } = request;
  const { guards = [] } = request;
  const less = mayMountOnMachine()
    ? { without: spareCapability() }
    : { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
  const script = startScript({ tools, less, environment, processLimit, terminal });
  const openFiles = inheritedFileLimit();
  return {
    steps,
    ...(joins !== undefined && { joins }),
    noAbstractSockets: strict,
    ...(network !== undefined && { network }),
    ...(guards.length > 0 && { guards }),
    ...(channel !== undefined && { channel }),
    ...(openFiles !== undefined && { openFiles }),
    shell: { file: tools.sh, args: ["-c", script, "drydock", ...command] },
    environment: Object.entries({ ...environment.plain, PWD: cwd }).map(
      ([name, value]) => `${name}=${value}`,
    ),
    cwd,
  };
}
