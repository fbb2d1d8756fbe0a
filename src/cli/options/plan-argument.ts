import type { Command } from "commander";

/** Adds a plan as the first argument of a command. */
export function addPlanArgument(command: Command): Command {
  return command.argument(
    "[PLAN]",
    "id of the plan, the beginning of it, or its name; default: the only open plan",
  );
}

/** The arguments of a command about one file: `[PLAN] RESOURCE PATH`, where only the first is optional. */
export interface FileArguments {
  readonly plan: string | undefined;
  readonly resource: string;
  readonly path: string;
}

/** Adds the arguments `[PLAN] RESOURCE PATH` to a command. */
export function addFileArguments(command: Command): Command {
  return addPlanArgument(command.usage("[options] [PLAN] RESOURCE PATH"))
    .argument("<RESOURCE>", "name of the resource")
    .argument("[PATH]", "path within the resource; '.' is the resource itself");
}

/** Two arguments are a resource and a path; with three, the first is the plan. */
export function fileArguments(first: string, second: string, third: string | undefined): FileArguments {
  if (third === undefined) return { plan: undefined, resource: first, path: second };
  return { plan: first, resource: second, path: third };
}
