import type { Command } from "commander";
import { displayPath } from "../../../core/paths/byte-path.ts";
import type { PlanView } from "../../../plans/plan-views.ts";
import type { Services } from "../../../services.ts";
import type { CommandContext } from "../../command-context.ts";
import { EXIT } from "../../exit-codes.ts";
import { openToChange } from "../../open-for-command.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import { oneLine } from "../../terminal/printable.ts";

/** Ends the detached command of a plan. Returns the plan; undefined if no such command runs. */
async function endDetached(drydock: Services, name: string | undefined): Promise<PlanView | undefined> {
  const detached = await drydock.detached(name);
  if (detached?.pid === undefined) return undefined;
  const { id: planId } = await drydock.plans.find(name);
  const { Attachment } = await import("../../../run/detached/attachment.ts");
  await Attachment.stop({ stateDir: drydock.stateDir, planId, exec: detached.exec });
  return await drydock.plans.show(planId);
}

/** `drydock plan cancel [PLAN] [--force]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command).option("--force", "also end the detached command that runs in it");
  command.action(async (name: string | undefined, { force = false }: { readonly force?: boolean }) => {
    const cancel = async (drydock: Services) => {
      const ended = force ? await endDetached(drydock, name) : undefined;
      // A command that changed nothing took its plan with it.
      if (ended?.state === "cancelled") return ended;
      return await drydock.plans.cancel(ended?.id ?? name);
    };
    const plan = await openToChange(context, name, cancel, { makesRoom: true });
    const left = plan.left ?? [];
    if (left.length > 0) context.exitWith(EXIT.attention);
    if (!context.options.json) for (const warning of plan.warnings ?? []) context.output.warning(warning);
    context.result(plan, () => [
      `Cancelled plan ${displayPath(plan.name)} (${plan.id}).`,
      ...left.map(({ resource, message, places }) =>
        oneLine(
          `not removed: the sandbox of ${displayPath(resource)}: ${message}${places.length === 0 ? "" : `; left: ${places.map(displayPath).join(", ")}`}`,
        ),
      ),
    ]);
  });
}
