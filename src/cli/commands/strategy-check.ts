import type { Command } from "commander";
import type { CaseResult } from "../../testing/run-conformance.ts";
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
      const { passed, failed, excluded } = report;
      context.result(
        {
          strategy: report.strategy,
          passed: passed.map(withoutError),
          failed: failed.map(withoutError),
          excluded: excluded.map(withoutError),
        },
        () => conformanceLines(report, context.output.styles),
      );
      if (failed.length > 0) context.exitWith(EXIT.failed);
    });
}

/** The result without the error, which is not plain data. */
function withoutError({ name, group, reason }: CaseResult): Omit<CaseResult, "outcome" | "error"> {
  return { name, group, ...(reason !== undefined && { reason }) };
}
