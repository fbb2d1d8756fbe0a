import { resolve } from "node:path";
import type { Command } from "commander";
import { BUILT_IN_RESOURCE_TYPES } from "../../core/resource/resource.ts";
import { BUILT_IN_STRATEGY_NAMES } from "../../core/strategy-names.ts";
import type { ResourceRequest } from "../../plans/plan-views.ts";
import { isThere } from "../../system/data/existence.ts";
import { parseResourceOption } from "./resource-option.ts";

/** What a resource is, for the help of a command. */
export const RESOURCE_HELP = `
A resource is [NAME=]LOCATION[,type=TYPE][,strategy=STRATEGY][,from=START], or the name of one that drydock.yaml declares.
  type      detected if not given: ${BUILT_IN_RESOURCE_TYPES.join(", ")}
  strategy  the strongest that works if not given: ${BUILT_IN_STRATEGY_NAMES.join(", ")}
  from      what the sandbox of a git checkout begins with: head if not given, or checkout for the files as they are`;

/** Adds the repeatable option `-r, --resource` to a command. */
export function addResourceOption(command: Command): Command {
  return command
    .option(
      "-r, --resource <resource>",
      "what the plan may change, repeatable; default: the current folder, or the git checkout around it",
      collect,
    )
    .addHelpText("after", RESOURCE_HELP);
}

/** Adds the repeatable option `--add` to a command. */
export function addAddOption(command: Command): Command {
  return command.option(
    "--add <resource>",
    "another resource for the plan, as for 'plan add', repeatable",
    collect,
  );
}

/** The resources that were given. */
export function resourceRequests(given: readonly string[], cwd: string): readonly ResourceRequest[] {
  return given.map((value) => parseResourceOption(value, (path) => isThere(resolve(cwd, path))));
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
