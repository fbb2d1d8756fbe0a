import type { Command } from "commander";

/** Lets a command take a plan as its first argument. */
export function addPlanArgument(command: Command): Command {
  return command.argument(
    "[PLAN]",
    "id of the plan, the beginning of it, or its name; default: the only open plan",
  );
}

/**
 * What a command has that takes a file of a plan: `[PLAN] RESOURCE PATH`, where only the first may be left
 * out.
 */
export interface FileArguments {
  readonly plan: string | undefined;
  readonly resource: string;
  readonly path: string;
}

/** Lets a command take `[PLAN] RESOURCE PATH`. */
export function addFileArguments(command: Command): Command {
  return addPlanArgument(command.usage("[options] [PLAN] RESOURCE PATH"))
    .argument("<RESOURCE>", "name of the resource")
    .argument("[PATH]", "path within the resource; '.' is the resource itself");
}

/** Two arguments are a resource and a path, three have the plan before them. */
export function fileArguments(first: string, second: string, third: string | undefined): FileArguments {
  if (third === undefined) return { plan: undefined, resource: first, path: second };
  return { plan: first, resource: second, path: third };
}
