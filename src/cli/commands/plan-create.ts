import { resolve } from "node:path";
import type { Command } from "commander";
import { BUILT_IN_RESOURCE_TYPES } from "../../core/resource.ts";
import { BUILT_IN_STRATEGY_NAMES } from "../../core/strategy-names.ts";
import type { ResourceRequest } from "../../plans/plan-views.ts";
import { isThere } from "../../system/existence.ts";
import type { CommandContext } from "../command-context.ts";
import { resourceLines } from "../render/plan-lines.ts";
import { parseResourceOption } from "../resource-option.ts";
import { change } from "../session.ts";

interface CreateOptions {
  readonly resource?: readonly string[];
  readonly name?: string;
  readonly readOnly?: boolean;
  readonly allowIrreversible?: boolean;
}

const HELP = `
A resource is [NAME=]LOCATION[,type=TYPE][,strategy=STRATEGY], or the name of one that drydock.yaml declares.
  type      detected if not given: ${BUILT_IN_RESOURCE_TYPES.join(", ")}
  strategy  the strongest that works if not given: ${BUILT_IN_STRATEGY_NAMES.join(", ")}`;

/** `drydock plan create [-r …]… [--name N] [--read-only] [--allow-irreversible]` */
export function definePlanCreate(command: Command, context: CommandContext): void {
  command
    .option("-r, --resource <resource>", "what the plan may change, repeatable; default: the current folder", collect)
    .option("--name <name>", "what the plan is called")
    .option("--read-only", "the plan can look, but never apply")
    .option("--allow-irreversible", "the plan may hold what can't be undone")
    .addHelpText("after", HELP)
    .action(async ({ resource: given = ["."], name, readOnly = false, allowIrreversible = false }: CreateOptions) => {
      const resources = requests(given, context.cwd);
      const plan = await change(context, undefined, (drydock) =>
        drydock.plans.create({ resources, ...(name === undefined ? {} : { name }), readOnly, allowIrreversible }),
      );
      context.result(plan, () => [plan.id]);
      if (context.options.json || !context.output.terminal.interactive) return;
      // Only the id is on stdout, for scripts; a person wants to see what was made.
      for (const resource of plan.resources) {
        for (const line of resourceLines(resource, context.output.errorStyles)) context.output.notice(line);
      }
    });
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function requests(given: readonly string[], cwd: string): readonly ResourceRequest[] {
  return given.map((value) => parseResourceOption(value, (path) => isThere(resolve(cwd, path))));
}
