import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import type { Command } from "commander";
import { CONFIG_FILE_NAME } from "../../config/nearest-config.ts";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { failedWith } from "../../system/calls/errno.ts";
import { Folder } from "../../system/calls/folder.ts";
import { isFile } from "../../system/data/existence.ts";
import { realPathOf } from "../../system/data/locations.ts";
import { createWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { CommandContext } from "../command-context.ts";

/** `drydock init` */
export function define(command: Command, context: CommandContext): void {
  command.action(async () => {
    const file = join(context.cwd, CONFIG_FILE_NAME);
    const { initTemplate } = await import("../../config/init-template.ts");
    create(context.cwd, initTemplate(schemaFile(context.cwd)));
    context.result({ file }, () => [
      `Wrote ${displayPath(file)}. It counts once you trust it: edit it, then run 'drydock trust'.`,
    ]);
  });
}

/**
 * The schema that comes with this Drydock, as editors find it. One that is installed in the project has a
 * relative path, which is the same for everybody who works on it.
 */
function schemaFile(cwd: string): string | undefined {
  const file = join(dirname(process.argv[1] ?? ""), "../schema/drydock.schema.json");
  if (!isFile(file)) return undefined;
  const fromHere = relative(realPathOf(cwd) ?? cwd, file);
  return fromHere.startsWith("../") ? pathToFileURL(file).href : `./${fromHere}`;
}

function create(cwd: string, text: string): void {
  using folder = Folder.open(realPathOf(cwd) ?? cwd);
  try {
    createWhole(failpoint("init.write"), folder, CONFIG_FILE_NAME, text);
  } catch (thrown) {
    if (!failedWith(thrown, "EEXIST")) throw thrown;
    throw new UsageError(`There already is a ${displayPath(join(cwd, CONFIG_FILE_NAME))}.`, {
      hint: "Edit it, or move it away to get a new one.",
      cause: thrown,
    });
  }
}
