import type { Command } from "commander";
import { AtomicCommitError } from "../../core/errors/errors.ts";
import { isProtected } from "../../core/self-running/protector.ts";
import type { SelfRunningFile } from "../../core/self-running/self-running-rules.ts";
import { inputIsTerminal } from "../../system/terminal/standard-stream.ts";
import type { CommandContext } from "../command-context.ts";
import { unescapePath } from "./escaped-path.ts";

/** Adds the option by which the user allows files that tools run by themselves. */
export function addAllowOption(command: Command): Command {
  return command.option(
    "--allow <pattern>",
    "also land what tools run by themselves, such as git hooks, or a policy protects ([RESOURCE:]PATTERN, with * and **); repeatable",
    (given: string, before: readonly string[] | undefined) => [...(before ?? []), unescapePath(given)],
  );
}

/** Whether the command can ask the user: stdin and stderr are terminals, and no program reads the result. */
export function canAsk({ output, options: { json } }: CommandContext): boolean {
  return !json && output.terminal.questions && inputIsTerminal();
}

/** Prints these files. */
export async function nameFiles(
  { output }: CommandContext,
  files: readonly SelfRunningFile[],
): Promise<void> {
  const { fileLines } = await import("../render/diff/self-running-lines.ts");
  const what = files.some(isProtected)
    ? "These land only with your word:"
    : "Tools run these by themselves, without being started:";
  output.notice(output.errorStyles.yellow(what));
  for (const line of fileLines(files, output.errorStyles)) output.notice(line);
}

/**
 * Asks the user to allow these files, which the user has seen. `-y` does not count here: it answers questions
 * that the user has not read.
 */
export async function askToAllow(
  context: CommandContext,
  files: readonly SelfRunningFile[],
): Promise<readonly string[] | undefined> {
  const { ask } = await import("../terminal/question.ts");
  const what = files.some(isProtected) ? "these" : "what tools run by themselves";
  const answer = (await ask(context, `Land also ${what}? [y/N] `))?.trim().toLowerCase() ?? "";
  return /^y(?:es)?$/.test(answer) ? files.map(patternFor) : undefined;
}

/** The self-running files for which an apply was refused, if it was refused for them alone. */
export function refusedFor(thrown: unknown): readonly SelfRunningFile[] {
  return thrown instanceof AtomicCommitError && thrown.notUndone.length === 0 ? thrown.selfRunning : [];
}

/** A pattern that matches this file. A character that is a wildcard in patterns becomes `?`. */
function patternFor({ resource = "", path }: SelfRunningFile): string {
  return `${resource}:${path.replace(/[*?]/g, "?")}`;
}
