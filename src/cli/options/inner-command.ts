import type { Command } from "commander";
import { UsageError } from "../../core/errors/errors.ts";

/** What stands behind `--`: the command to run, byte for byte. */
export function innerCommand(command: Command, callName: string): readonly string[] {
  const args = rootOf(command).rawArgs;
  const dashes = args.indexOf("--");
  const inner = dashes < 0 ? [] : args.slice(dashes + 1);
  if (inner.length > 0) return inner;
  throw new UsageError("There is no command to run.", {
    hint: `Write it behind '--': ${callName} -- COMMAND …`,
  });
}

/** How many of the arguments that commander found stand before `--`. */
export function argumentsBefore(args: readonly string[], inner: readonly string[]): readonly string[] {
  return args.slice(0, args.length - inner.length);
}

function rootOf(command: Command): Command & { readonly rawArgs: readonly string[] } {
  return (command.parent === null ? command : rootOf(command.parent)) as Command & {
    readonly rawArgs: readonly string[];
  };
}
