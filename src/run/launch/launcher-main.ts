import { messageOf } from "../../core/errors/errors.ts";
import { bindAll, calls } from "../../system/calls/native.ts";
import { launchCalls } from "../../system/launch/calls.ts";
import { readLine, writeLine } from "../../system/launch/streams.ts";
import { keep } from "../../system/walls/keeper.ts";
import { launchWalled } from "../walls/launch-walled.ts";
import { launchCommand, NoMountsError } from "./launch-command.ts";
import { DESCRIPTORS, KEEP, type LaunchSpec } from "./launch-spec.ts";

/**
 * The launcher: a separate program, started early, that waits until Drydock tells it which command to become.
 * Where there are no namespaces, it starts as the keeper of a second one.
 */
if (process.argv.at(-1) === KEEP) keep(process.env);
else wait();

function wait(): void {
  bindAll(calls);
  bindAll(launchCalls);
  writeLine(DESCRIPTORS.control, "waiting");
  const line = readLine(DESCRIPTORS.control);
  // Without a line there is no command: Drydock has ended, or could not create the plan.
  if (line === undefined) return;
  try {
    const spec = JSON.parse(line) as LaunchSpec;
    if ("steps" in spec) launchCommand(spec);
    else launchWalled(spec);
  } catch (thrown) {
    const how = thrown instanceof NoMountsError ? "denied" : "failed";
    writeLine(DESCRIPTORS.control, `${how} ${JSON.stringify(messageOf(thrown))}`);
    process.exitCode = 1;
  }
}
