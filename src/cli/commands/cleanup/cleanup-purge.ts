import type { Command } from "commander";
import { parseDuration } from "../../../config/duration.ts";
import type { PurgeResult } from "../../../plans/plan-views.ts";
import type { Services } from "../../../services.ts";
import type { CommandContext } from "../../command-context.ts";
import { EXIT } from "../../exit-codes.ts";
import { openToChange } from "../../open-for-command.ts";
import { purgeLines } from "../../render/machine/cleanup-lines.ts";

interface PurgeOptions {
  readonly olderThan?: string;
  readonly dryRun?: boolean;
  readonly force?: boolean;
  readonly undoOlderThan?: string;
}

/** `drydock cleanup purge [--older-than AGE] [--undo-older-than AGE] [--dry-run] [--force]` */
export function define(command: Command, context: CommandContext): void {
  command
    .option("--older-than <age>", "only leftovers of at least this age: 7d, 12h, 30m or 90s")
    .option("--dry-run", "only list what would be removed")
    .option("--force", "also remove leftovers that may hold the only copy of unapplied work")
    .option("--undo-older-than <age>", "also undo records of this age: their plans can't be undone any more")
    .action(async ({ olderThan, undoOlderThan, dryRun = false, force = false }: PurgeOptions) => {
      const age = {
        ...(olderThan !== undefined && { olderThanMs: parseDuration(olderThan) }),
        ...(undoOlderThan !== undefined && { undoOlderThanMs: parseDuration(undoOlderThan) }),
      };
      const purge = (drydock: Services) => drydock.cleanup.purge({ ...age, dryRun, force });
      const purged = await openToChange(context, undefined, purge, { makesRoom: true });
      const result = { ...purged, kept: purged.kept.map(withRemedy) };
      context.result(result, () => purgeLines(result, context.output.styles));
      if (result.failed.length > 0) context.exitWith(EXIT.attention);
    });
}

function withRemedy(item: PurgeResult["kept"][number]): PurgeResult["kept"][number] {
  return item.holdsWork ? { ...item, why: `${item.why}; --force removes it` } : item;
}
