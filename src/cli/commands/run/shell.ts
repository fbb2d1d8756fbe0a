import { userInfo } from "node:os";
import type { Command } from "commander";
import type { CommandContext } from "../../command-context.ts";
import { addRunOptions, runInPlan } from "./run-in-plan.ts";
import type { RunOptions } from "./run-options.ts";

/** `drydock shell [options]`: `drydock run` with the user's shell. */
export function define(command: Command, context: CommandContext): void {
  addRunOptions(command).action(async (options: RunOptions) => {
    await runInPlan(context, [shellOf(context)], options);
  });
}

function shellOf({ environment }: CommandContext): string {
  return environment["SHELL"] || userShell() || "/bin/sh";
}

/** The shell in the list of users, if this user is there. */
function userShell(): string | null {
  try {
    return userInfo().shell;
  } catch {
    return null;
  }
}
