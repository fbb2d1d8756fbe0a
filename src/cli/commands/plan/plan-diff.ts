import { type Command, Option } from "commander";
import type { PlanDiff } from "../../../plans/plan-views.ts";
import type { Services } from "../../../services.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToRead } from "../../open-for-command.ts";
import { parsePathFilter } from "../../options/path-filter.ts";
import { addPlanArgument } from "../../options/plan-argument.ts";
import {
  ChangeList,
  ChangeNames,
  ChangeStat,
  type DiffLines,
  patchNotes,
} from "../../render/plan/diff-lines.ts";
import { terminalPatch } from "../../render/plan/patch-line.ts";
import { JsonList } from "../../terminal/json-document.ts";

interface DiffOptions {
  readonly stat?: boolean;
  readonly nameOnly?: boolean;
  readonly patch?: boolean;
}

/** `drydock plan diff [PLAN] [--stat | --name-only | --patch] [PATH…]` */
export function define(command: Command, context: CommandContext): void {
  addPlanArgument(command)
    .argument("[PATH...]", "only changes at or below these paths")
    .addOption(new Option("--stat", "how many lines of each file").conflicts(["nameOnly", "patch"]))
    .addOption(new Option("--name-only", "only the names").conflicts(["stat", "patch"]))
    .addOption(
      new Option("-p, --patch", "the changes themselves, as a unified diff").conflicts(["stat", "nameOnly"]),
    )
    .action(async (plan: string | undefined, given: readonly string[], options: DiffOptions) => {
      const paths = given.map(parsePathFilter);
      await openToRead(context, async (drydock) => {
        if (context.options.json)
          return printDocument(context, drydock, plan, { paths, patch: options.patch });
        if (options.patch) return printPatch(context, drydock, plan, paths);
        const rows = rowsFor(options, context);
        const diff = await drydock.plans.diff(plan, { paths, onChange: (change) => rows.add(change) });
        return context.output.lines(rows.lines(diff));
      });
    });
}

function rowsFor({ stat, nameOnly }: DiffOptions, { output }: CommandContext): DiffLines {
  if (nameOnly) return new ChangeNames();
  return stat ? new ChangeStat(output.styles) : new ChangeList(output.styles);
}

async function printDocument(
  { output }: CommandContext,
  drydock: Services,
  plan: string | undefined,
  { paths, patch }: { readonly paths: readonly string[]; readonly patch: boolean | undefined },
): Promise<void> {
  const changes = new JsonList();
  const diff = await drydock.plans.diff(plan, { paths, onChange: (change) => changes.add(change) });
  const text = patch ? (await Array.fromAsync(drydock.plans.patch(plan, { paths }))).join("") : undefined;
  output.document({ ...diff, changes, patch: text });
}

/**
 * Prints the patch while it is made. A program gets the exact bytes, so that it can apply the patch. A person
 * also gets notes on what a patch does not show.
 */
async function printPatch(
  { output }: CommandContext,
  drydock: Services,
  plan: string | undefined,
  paths: readonly string[],
): Promise<void> {
  let notes: readonly string[] = [];
  const onDiff = (diff: PlanDiff) => {
    notes = [...patchNotes(diff, output.errorStyles)];
  };
  const onlyText = output.terminal.interactive;
  for await (const part of drydock.plans.patch(plan, { paths, onDiff, onlyText })) {
    output.write(output.terminal.interactive ? terminalPatch(part, output.styles) : part);
    if (output.failure !== undefined) return;
  }
  if (output.terminal.progress) for (const note of notes) output.notice(note);
}
