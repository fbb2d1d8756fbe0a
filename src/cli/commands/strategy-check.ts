import type { Command } from "commander";
import type { CaseResult } from "../../testing/run-conformance.ts";
import type { CommandContext } from "../command-context.ts";
import { EXIT } from "../exit-codes.ts";
import { conformanceLines } from "../render/machine/conformance-lines.ts";
import { change } from "../session.ts";

/** `drydock strategy check NAME` */
export function define(command: Command, context: CommandContext): void {
  command
    .argument("<strategy>", "its name, or MODULE:CLASS, such as ./mine.ts:MyStrategy")
    .option(
      "--resource <where>",
      "the folder in which resources are made, and so their file system; or MODULE:FUNCTION, what makes one",
    )
    .action(async (strategy: string, { resource }: { readonly resource?: string }) => {
      const report = await change(context, undefined, async (drydock) =>
        drydock.check(strategy, resource === undefined ? {} : { resource }),
      );
      const { passed, failed, excluded } = report;
      context.result(
        {
          strategy: report.strategy,
          passed: passed.map(plain),
          failed: failed.map(plain),
          excluded: excluded.map(plain),
        },
        () => conformanceLines(report, context.output.styles),
      );
      if (failed.length > 0) context.exitWith(EXIT.failed);
    });
}

/** Without what it threw, which is no plain data. */
function plain({ name, group, reason }: CaseResult): Omit<CaseResult, "outcome" | "error"> {
  return { name, group, ...(reason !== undefined && { reason }) };
}
