import type { Command } from "commander";
import type { StatementResult } from "../../../core/values/query.ts";
import { jsonResults } from "../../../database/common/results-json.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { resultLines } from "../../render/plan/sql-lines.ts";
import { readStandardInput } from "../../terminal/standard-input.ts";

/** `drydock plan sql [[PLAN] RESOURCE] [-c SQL | < FILE]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command.usage("[options] [[PLAN] RESOURCE]"))
    .argument("[RESOURCE]", "name of the resource; default: the only one")
    .option("-c, --command <SQL>", "the statements; default: standard input")
    .action(
      async (
        first: string | undefined,
        second: string | undefined,
        { command: given }: { command?: string },
      ) => {
        const [plan, resource] = second === undefined ? [undefined, first] : [first, second];
        const results = await openToChange(context, plan, async (drydock, signal) => {
          // A wrong plan is refused before the user types statements.
          const { id } = await drydock.plans.find(plan);
          const script = given ?? Buffer.from(await readStandardInput(process.stdin, signal)).toString();
          return await drydock.plans.sql(id, resource, script);
        });
        print(context, results);
      },
    );
}

function print(context: CommandContext, results: readonly StatementResult[]): void {
  if (context.options.json) context.output.document({ results: jsonResults(results) });
  else context.output.lines(resultLines(results, context.output.styles));
}
