import { join } from "node:path";
import type { Command } from "commander";
import { CONFIG_FILE_NAME } from "../../config/config-file.ts";
import { displayPath } from "../../core/byte-path.ts";
import { UsageError } from "../../core/errors.ts";
import { failedWith } from "../../system/errno.ts";
import { failpoint } from "../../system/failpoints.ts";
import { createTextFile } from "../../system/new-file.ts";
import type { CommandContext } from "../command-context.ts";

/** `drydock init` */
export function define(command: Command, context: CommandContext): void {
  command.action(async () => {
    const file = join(context.cwd, CONFIG_FILE_NAME);
    const { initTemplate } = await import("../../config/init-template.ts");
    create(file, initTemplate());
    context.result({ file }, () => [
      `Wrote ${displayPath(file)}. It counts once you trust it: edit it, then run 'drydock trust'.`,
    ]);
  });
}

function create(file: string, text: string): void {
  try {
    createTextFile(failpoint("init.write"), file, text);
  } catch (thrown) {
    if (!failedWith(thrown, "EEXIST")) throw thrown;
    throw new UsageError(`There already is a ${displayPath(file)}.`, {
      hint: "Edit it, or move it away to get a new one.",
      cause: thrown,
    });
  }
}
