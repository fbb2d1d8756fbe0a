import type { Command } from "commander";
import { UsageError } from "../../core/errors/errors.ts";

/** The command behind `--`, byte for byte. */
export function innerCommand(command: Command, callName: string): readonly string[] {
  const args = rootOf(command).rawArgs;
  const dashes = args.indexOf("--");
  return assertCommand(dashes < 0 ? [] : args.slice(dashes + 1), `${callName} -- COMMAND …`);
}

/** Refuses a call without a command to run. */
export function assertCommand(inner: readonly string[], usage: string): readonly string[] {
  if (inner.length > 0) return inner;
  throw new UsageError("There is no command to run.", { hint: `Write it at the end: ${usage}` });
}

/** The arguments that stand before `--`, of all that commander found. */
export function argumentsBefore(args: readonly string[], inner: readonly string[]): readonly string[] {
  return args.slice(0, args.length - inner.length);
}

function rootOf(command: Command): Command & { readonly rawArgs: readonly string[] } {
  return (command.parent === null ? command : rootOf(command.parent)) as Command & {
    readonly rawArgs: readonly string[];
  };
}
