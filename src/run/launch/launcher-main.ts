import { messageOf } from "../../core/errors/errors.ts";
import { bindAll, calls } from "../../system/calls/native.ts";
import { launchCalls } from "../../system/launch/calls.ts";
import { readLine, writeLine } from "../../system/launch/streams.ts";
import { launchCommand } from "./launch-command.ts";
import { DESCRIPTORS, type LaunchSpec } from "./launch-spec.ts";

/**
 * The launcher: a separate program, started early, that waits until Drydock tells it which command to become.
 */
bindAll(calls);
bindAll(launchCalls);
writeLine(DESCRIPTORS.control, "waiting");
const line = readLine(DESCRIPTORS.control);
// Without a line there is no command: Drydock has ended, or could not create the plan.
if (line !== undefined) {
  try {
    launchCommand(JSON.parse(line) as LaunchSpec);
  } catch (thrown) {
    writeLine(DESCRIPTORS.control, `failed ${JSON.stringify(messageOf(thrown))}`);
    process.exitCode = 1;
  }
}
