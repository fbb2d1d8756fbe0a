import type { Command } from "commander";
import { UsageError } from "../../../core/errors/errors.ts";
import { RESOLUTIONS } from "../../../core/values/merge.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { unescapePath } from "../../options/escaped-path.ts";
import { resolveLines } from "../../render/update-lines.ts";

interface ResolveFlags {
  readonly resource?: string;
  readonly ours?: boolean;
  readonly theirs?: boolean;
  readonly keepBoth?: boolean;
}

/** `drydock plan resolve PLAN PATH (--ours | --theirs | --keep-both) [-r RESOURCE]` */
export function define(command: Command, context: CommandContext): void {
  command
    .argument("<PLAN>", "id of the plan, the beginning of it, or its name")
    .argument("<PATH>", "path within the resource", unescapePath)
    .option("-r, --resource <name>", "name of the resource; default: the only one")
    .option("--ours", "keep the plan's version")
    .option("--theirs", "take the original's version, and leave the path out of the plan")
    .option("--keep-both", "take the original's version, and keep the plan's beside it under another name")
    .action(async (plan: string, path: string, { resource, ...flags }: ResolveFlags) => {
      const how = chosen(flags);
      const options = { path, how, ...(resource !== undefined && { resource }) };
      const result = await openToChange(context, plan, ({ updates }) => updates.resolve(plan, options));
      context.result(result, () => resolveLines(result));
    });
}

function chosen({ ours, theirs, keepBoth }: Omit<ResolveFlags, "resource">) {
  const given = [ours, theirs, keepBoth];
  const [how, ...others] = RESOLUTIONS.filter((_, index) => given[index] === true);
  if (how !== undefined && others.length === 0) return how;
  throw new UsageError("Say which version of the file to keep.", {
    hint: "Give one of --ours, --theirs and --keep-both.",
  });
}
