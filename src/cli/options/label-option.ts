import type { Command } from "commander";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { PlanLabels } from "../../core/plan.ts";
import type { WantedLabels } from "../../plans/plan-labels.ts";

/** Adds the repeatable option `--label KEY=VALUE` to a command that makes a plan. */
export function addLabelOption(command: Command): Command {
  return command.option(
    "--label <key=value>",
    "a label to find the plan by, repeatable",
    (given: string, before: PlanLabels = {}) => {
      const { key, value } = parts(given);
      if (value === undefined)
        throw new UsageError(`The label '${displayPath(given)}' has no value.`, {
          hint: "Write --label KEY=VALUE.",
        });
      return { ...before, [key]: value };
    },
  );
}

/** Adds the repeatable option `--label KEY[=VALUE]` to a command that looks for plans. */
export function addWantedLabelOption(command: Command): Command {
  return command.option(
    "--label <key[=value]>",
    "only plans with this label, repeatable",
    (given: string, before: WantedLabels = {}): WantedLabels => {
      const { key, value } = parts(given);
      return { ...before, [key]: value ?? true };
    },
  );
}

function parts(given: string): { readonly key: string; readonly value: string | undefined } {
  const equals = given.indexOf("=");
  if (equals < 0) return { key: given, value: undefined };
  return { key: given.slice(0, equals), value: given.slice(equals + 1) };
}
