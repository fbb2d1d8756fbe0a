import type { Command } from "commander";
import { conformanceDocument } from "../../testing/conformance-document.ts";
import type { CommandContext } from "../command-context.ts";
import { EXIT } from "../exit-codes.ts";
import { openToChange } from "../open-for-command.ts";
import { conformanceLines } from "../render/machine/conformance-lines.ts";

/** `drydock strategy check NAME` */
export function define(command: Command, context: CommandContext): void {
  command
    .argument("<strategy>", "its name, or MODULE:CLASS, such as ./mine.ts:MyStrategy")
    .option(
      "--resource <where>",
      "a folder for the resources, on its file system; or MODULE:FUNCTION, a function that makes one",
    )
    .action(async (strategy: string, { resource }: { readonly resource?: string }) => {
      const report = await openToChange(context, undefined, async (drydock) =>
        drydock.check(strategy, resource === undefined ? {} : { resource }),
      );
      context.result(conformanceDocument(report), () => conformanceLines(report, context.output.styles));
      if (report.failed.length > 0) context.exitWith(EXIT.failed);
    });
}
