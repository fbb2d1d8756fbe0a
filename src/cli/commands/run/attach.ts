import { type Command, Option } from "commander";
import { StateError, UsageError } from "../../../core/errors/errors.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import type { DetachedFacts } from "../../../plans/history/detached-command.ts";
import type { DetachedEnd } from "../../../run/detached/detached-protocol.ts";
import type { Services } from "../../../services.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { harmless, oneLine } from "../../terminal/printable.ts";
import { readStandardInput } from "../../terminal/standard-input.ts";
import { type DetachKey, parseDetachKey } from "./detach-key.ts";

interface AttachOptions {
  readonly detachKey: DetachKey;
  /** This process is the one that keeps the command. */
  readonly inBackground?: boolean;
}

/** A detached command, and where it is. */
interface Found extends DetachedFacts {
  readonly planId: string;
  readonly name: string;
  readonly stateDir: string;
}

/** `drydock attach [PLAN] [--detach-key KEY]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command)
    .addOption(
      new Option("--detach-key <key>", "what leaves it: ctrl- and a key, or none (default: ctrl-\\)")
        .argParser(parseDetachKey)
        .default(parseDetachKey("ctrl-\\")),
    )
    .addOption(new Option("--in-background").hideHelp())
    .action(async (plan: string | undefined, options: AttachOptions) => {
      if (options.inBackground === true) return await keepHere();
      const found = await find(context, plan);
      const end = found.pid === undefined ? undefined : await attached(context, found, options);
      // It may have ended just now.
      tellEnd(context, end ?? (await find(context, found.planId)), found);
    });
}

async function keepHere(): Promise<void> {
  const { keepDetached } = await import("./keep-detached.ts");
  const input = await readStandardInput(process.stdin, new AbortController().signal);
  await keepDetached(Buffer.from(input).toString());
}

async function find(context: CommandContext, plan: string | undefined): Promise<Found> {
  return await openToRead(context, async (drydock) => {
    const { plans, stateDir, detached } = drydock;
    const { id: planId, name } = await plans.find(plan ?? (await onlyRunning(drydock)));
    const last = await detached.last(planId);
    if (last !== undefined) return { ...last, planId, name, stateDir };
    throw new UsageError(`No command was started in the plan ${displayPath(name)} with --detach.`, {
      hint: `Start one: drydock plan exec --detach ${planId} -- COMMAND`,
      code: "NO_SUCH_COMMAND",
    });
  });
}

/** The open plan in which a detached command runs, if there is only one. */
async function onlyRunning({ plans, detached }: Services): Promise<string | undefined> {
  const running: string[] = [];
  for (const { id } of await plans.list()) if ((await detached.running(id)).length > 0) running.push(id);
  return running.length === 1 ? running[0] : undefined;
}

/** Undefined if the command has ended before, or was killed. */
async function attached(
  context: CommandContext,
  found: Found,
  { detachKey }: AttachOptions,
): Promise<DetachedEnd | "left" | undefined> {
  const { AttachedTerminal } = await import("../../terminal/attached-terminal.ts");
  const end = await AttachedTerminal.show(found, {
    ...{ output: context.options.json ? 2 : 1, detachKey },
    onSignal: (exitCode) => context.exitWith(exitCode),
  });
  return end === "lost" ? undefined : end;
}

function tellEnd(context: CommandContext, end: DetachedEnd | "left" | Found, found: Found): void {
  const { planId, command } = found;
  const { output, options } = context;
  if (end === "left") {
    if (options.json) output.document({ planId, command, detached: true });
    else output.notice(`Left '${oneLine(command)}', which goes on. Its terminal: drydock attach ${planId}`);
    return;
  }
  if (end.exitCode === undefined) throw lost(found);
  if ("output" in end && end.output !== undefined) {
    if (options.json) output.notice(end.output);
    // What is for the terminal of the command would change the user's, or make that answer.
    else output.write(output.terminal.interactive ? harmless(end.output) : end.output);
  }
  if ("endedAt" in end && !options.json)
    output.notice(`'${oneLine(command)}' ended at ${end.endedAt}, with exit code ${end.exitCode}.`);
  const { exitCode, said = "" } = ("run" in end && end.run) || { exitCode: end.exitCode };
  for (const line of said.split("\n").filter((each) => each !== "")) output.notice(line);
  if (options.json) output.document({ planId, command, exitCode });
  context.exitWith(exitCode);
}

function lost({ command, name }: Found): StateError {
  return new StateError(
    `'${command}' was killed, together with the process that kept it in the plan ${displayPath(name)}.`,
    { hint: "Its work is in the plan. Look at it with 'drydock plan diff', and start the command again." },
  );
}
