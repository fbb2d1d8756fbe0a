import type { Command } from "commander";
import { displayPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import type { Entry } from "../../../core/resource/entry.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { parsePathFilter } from "../../options/path-filter.ts";

interface ListCommandOptions {
  readonly recursive?: boolean;
  readonly match?: string;
}

/** `drydock plan ls PLAN RESOURCE [PATH] [--recursive] [--match PATTERN]` */
export function define(command: Command, context: CommandContext): void {
  command
    .argument("<PLAN>", "id of the plan, the beginning of it, or its name")
    .argument("<RESOURCE>", "name of the resource")
    .argument("[PATH]", "folder within the resource; default: all of it", parsePathFilter)
    .option("-R, --recursive", "also what is in folders below")
    .option("--match <pattern>", "only paths that this pattern chooses, with * and **")
    .action(async (plan: string, resource: string, path: string | undefined, options: ListCommandOptions) => {
      const place = { plan, resource, path: path ?? ROOT_PATH };
      const entries = await openToRead(context, async ({ entries }) => {
        const found: Entry[] = [];
        for (let cursor: string | undefined = ""; cursor !== undefined; ) {
          const page = await entries.list(place, { ...options, ...(cursor !== "" && { cursor }) });
          found.push(...page.entries);
          cursor = page.next;
        }
        return found;
      });
      context.result({ resource, entries }, () => entries.map(entryLine));
    });
}

function entryLine({ path, kind, target }: Entry): string {
  if (kind === "symlink") return `${displayPath(path)} -> ${displayPath(target ?? "")}`;
  return kind === "directory" ? `${displayPath(path)}/` : displayPath(path);
}
