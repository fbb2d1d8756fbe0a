import { CommandKeeping } from "../../../run/detached/command-keeping.ts";
import { StandardStream } from "../../../system/terminal/standard-stream.ts";
import { CommandContext } from "../../command-context.ts";
import { errorLines } from "../../error-report.ts";
import { exitCodeOf } from "../../exit-codes.ts";
import { openToChange } from "../../open-for-command.ts";
import { Output, type OutputStream } from "../../terminal/output.ts";
import { terminalFeatures } from "../../terminal/terminal.ts";
import { execDetached } from "../plan/plan-exec.ts";
import { runInPlan } from "./run-in-plan.ts";
import type { Talk } from "./run-options.ts";
import type { DetachedStart } from "./start-detached.ts";

/**
 * Keeps a detached command: this process runs it as `run` or `plan exec` would, at a terminal that others can
 * attach to. It leads a session of its own, so it outlives the command that started it, and when it is
 * killed, so is the command. It says that the command is up by a line of JSON and `ready`; what it says
 * before goes to the command that started it, and what it says later to those who are attached.
 */
export async function keepDetached(input: string): Promise<void> {
  const { work, size, cwd, environment, options } = JSON.parse(input) as DetachedStart;
  const stdout = new StandardStream(1);
  const stderr = new StandardStream(2);
  const keeping = new CommandKeeping({
    ...{ command: work.inner, size },
    onUp: (report) => stdout.write(Buffer.from(`${JSON.stringify(report)}\nready\n`)),
  });
  const said: OutputStream = {
    write: (bytes) => {
      if (keeping.isUp) keeping.say(Buffer.from(bytes).toString());
      else stderr.write(bytes);
    },
  };
  const features = terminalFeatures({ stdoutIsTerminal: false, stderrIsTerminal: false }, environment);
  const context = new CommandContext(new Output(said, said, features), environment, {
    ...options,
    json: false,
  });
  await context.enter(cwd);
  const talk: Talk["talk"] = async (command, drydock) => {
    // Also that of a command which was ended by force: the run fails then, without telling it.
    context.exitWith((await keeping.talk(command, drydock)).exitCode);
  };
  const talking = { talk, detached: size, signal: keeping.signal };
  let exitCode: number;
  try {
    if ("run" in work) await runInPlan(context, work.inner, work.run, talking);
    else await execDetached(context, work, talking);
    exitCode = context.exitCode;
  } catch (thrown) {
    if (!keeping.isUp) throw thrown;
    for (const line of errorLines(thrown, context.output.errorStyles, context.failedPlan))
      context.output.notice(line);
    exitCode = context.exitCode === 0 ? exitCodeOf(thrown) : context.exitCode;
  }
  await noteEnd(context, keeping, exitCode);
  await keeping.end(exitCode);
}

/** For those who attach later, if the history of the plan tells another end: that of the command. */
async function noteEnd(context: CommandContext, keeping: CommandKeeping, exitCode: number): Promise<void> {
  const { ended } = keeping;
  if (ended === undefined || ended.exitCode === exitCode) return;
  const { said, ...command } = ended;
  try {
    await openToChange(context, undefined, ({ detached }) =>
      detached.noteRunEnd(command, { exitCode, said }),
    );
  } catch (thrown) {
    for (const line of errorLines(thrown, context.output.errorStyles)) context.output.notice(line);
  }
}
