import { dirname, join, relative } from "node:path";
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
import { packageManifest } from "./version.ts";

/** `drydock init` */
export function define(command: Command, context: CommandContext): void {
  command.action(async () => {
    const file = join(context.cwd, CONFIG_FILE_NAME);
    const { initTemplate } = await import("../../config/init-template.ts");
    create(context.cwd, initTemplate(await schemaFor(context.cwd)));
    context.result({ file }, () => [
      `Wrote ${displayPath(file)}. It counts once you trust it: edit it, then run 'drydock trust'.`,
    ]);
  });
}

const SCHEMA = "schema/drydock.schema.json";

/**
 * The schema of this version, as editors find it, in words that hold on every machine: a relative path if
 * Drydock is installed in the project, else the address of the published package.
 */
async function schemaFor(cwd: string): Promise<string> {
  const file = join(dirname(process.argv[1] ?? ""), "..", SCHEMA);
  const fromHere = relative(realPathOf(cwd) ?? cwd, file);
  if (!fromHere.startsWith("../") && isFile(file)) return `./${fromHere}`;
  const { name, version } = await packageManifest();
  return `https://unpkg.com/${name}@${version}/${SCHEMA}`;
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
