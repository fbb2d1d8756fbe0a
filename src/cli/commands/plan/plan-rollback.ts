import type { Command } from "commander";
import { displayPath } from "../../../core/paths/byte-path.ts";
import type { RollbackResult } from "../../../plans/updates/update-views.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";

interface RollbackFlags {
  readonly only?: readonly string[];
  readonly rejected?: boolean;
}

/** `drydock plan rollback [PLAN] [--only [RESOURCE:]PATTERN…] [--rejected]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command)
    .option("--only <paths...>", "take only these paths out of the plan ([RESOURCE:]PATTERN, with * and **)")
    .option("--rejected", "take out what votes reject: changes, and hunks of text files")
    .action(async (name: string | undefined, flags: RollbackFlags) => {
      const plan = await openToChange(context, name, (drydock) => drydock.plans.rollback(name, flags), {
        makesRoom: true,
      });
      context.result(plan, () => rollbackLines(plan));
    });
}

function rollbackLines({ id, name, part }: RollbackResult): readonly string[] {
  if (part === undefined)
    return [`Rolled back plan ${displayPath(name)} (${id}): its sandboxes show the originals again.`];
  const { changes, checkpoint } = part;
  return [
    `Took ${changes === 1 ? "1 change" : `${changes} changes`} out of plan ${displayPath(name)} (${id}).`,
    `To take this back: drydock plan restore ${id} ${checkpoint}`,
  ];
}
