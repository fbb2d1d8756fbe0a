import { dirname, join } from "node:path";
import type { DetachedReport } from "../../../run/detached/command-keeping.ts";
import { startKeeping, USUAL_SIZE, withTerminal } from "../../../run/detached/start-keeping.ts";
import { armFailpoints } from "../../../system/failpoints.ts";
import type { Program } from "../../../system/process/start-process.ts";
import type { WindowSize } from "../../../system/terminal/program-streams.ts";
import { UserTerminal } from "../../../system/terminal/user-terminal.ts";
import type { CommandContext } from "../../command-context.ts";
import type { GlobalOptions } from "../../global-options.ts";
import { Interruption } from "../../interruption.ts";
import { oneLine } from "../../terminal/printable.ts";
import type { ExecOptions, RunOptions } from "./run-options.ts";

/** A command to be run detached: as `run` would, or as `plan exec` would. */
export type DetachedWork = { readonly inner: readonly string[] } & (
  | { readonly run: RunOptions }
  | { readonly exec: ExecOptions; readonly plan?: string }
);

/** What the process that keeps a detached command gets on its standard input. */
export interface DetachedStart {
  readonly work: DetachedWork;
  readonly size: WindowSize;
  readonly cwd: string;
  readonly environment: CommandContext["environment"];
  readonly options: Omit<GlobalOptions, "json">;
}

/** Starts a command that goes on when this process has ended. */
export async function startDetached(context: CommandContext, work: DetachedWork): Promise<void> {
  const { output, options, environment, cwd } = context;
  const { json = false, ...others } = options;
  armFailpoints(environment["DRYDOCK_FAILPOINT"], environment["DRYDOCK_FAILPOINT_TRACE"]);
  const start: DetachedStart = {
    ...{ work, size: ownSize(output.terminal.interactive), cwd },
    environment: withTerminal(environment),
    options: others,
  };
  using interruption = new Interruption((line) => output.notice(line));
  const said = await startKeeping(keepingProgram(context, json), start, interruption.signal);
  for (const line of said.stderr.split("\n")) if (line !== "") output.notice(line);
  if (said.isReady) {
    const report = JSON.parse(said.stdout) as DetachedReport;
    return context.result(report, () => reportLines(report));
  }
  output.write(said.stdout);
  if (said.exitCode !== undefined) context.exitWith(said.exitCode);
}

function* reportLines({ planId, name, command }: DetachedReport): Generator<string> {
  yield `'${oneLine(command)}' runs detached in plan ${oneLine(name)} (${planId}).`;
  yield `Its terminal: drydock attach ${planId}`;
}

/** This very program, as the process that keeps the command. */
function keepingProgram({ environment }: CommandContext, json: boolean): Program {
  const set = Object.entries(environment).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return {
    file: join(dirname(process.argv[1] ?? ""), "drydock"),
    args: ["attach", "--in-background", ...(json ? ["--json"] : [])],
    environment: Object.fromEntries(set),
  };
}

function ownSize(isTerminal: boolean): WindowSize {
  if (!isTerminal) return USUAL_SIZE;
  const terminal = UserTerminal.open([1]);
  const { rows, columns } = terminal.shape;
  terminal.close();
  return rows > 0 && columns > 0 ? { rows, columns } : USUAL_SIZE;
}
