import type { Command } from "commander";
import { nearestConfig } from "../../config/nearest-config.ts";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { CommandContext } from "../command-context.ts";
import { openToChange } from "../open-for-command.ts";
import { unescapePath } from "../options/escaped-path.ts";
import { trustLines } from "../render/machine/trust-lines.ts";

/** `drydock trust [FILE]` */
export function define(command: Command, context: CommandContext): void {
  command
    .argument("[FILE]", "the config; default: the nearest drydock.yaml upward from the current folder")
    .action(async (given?: string) => {
      const file =
        given === undefined ? (context.options.config ?? nearest(context.cwd)) : unescapePath(given);
      // Opened with this config, so that a wrong one is refused, with the line of the error.
      context.options = { ...context.options, config: file };
      const trusted = await openToChange(context, undefined, (drydock) => drydock.trust(file));
      context.result(trusted, () => trustLines(trusted, context.output.styles));
    });
}

function nearest(cwd: string): string {
  const file = nearestConfig(cwd);
  if (file !== undefined) return file;
  throw new UsageError(`There is no drydock.yaml in ${displayPath(cwd)} or above.`, {
    hint: "Name the file, or make one with 'drydock init'.",
  });
}
