import { type Command, Option } from "commander";
import type { PlanDiff } from "../../../plans/plan-views.ts";
import { summaryOf } from "../../../plans/review/change-summary.ts";
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
} from "../../render/diff/diff-lines.ts";
import { terminalPatch } from "../../render/diff/patch-line.ts";
import { SummaryLines } from "../../render/diff/summary-lines.ts";
import { JsonList } from "../../terminal/json-document.ts";
import { printPaged } from "../../terminal/pager.ts";

interface DiffOptions {
  readonly checkpoint?: string;
  readonly stat?: boolean;
  readonly summary?: boolean;
  readonly nameOnly?: boolean;
  readonly patch?: boolean;
  /** False only if the user says so. */
  readonly pager?: boolean;
}

const FORMS = ["stat", "summary", "nameOnly", "patch"];

/**
 * `drydock plan diff [PLAN] [--checkpoint CHECKPOINT] [--stat | --summary | --name-only | --patch]
 * [--no-pager] [PATH…]`
 */
export function define(command: Command, context: CommandContext): void {
  const form = (flags: string, description: string, name: string) =>
    new Option(flags, description).conflicts(FORMS.filter((other) => other !== name));
  addPlanArgument(command)
    .argument("[PATH...]", "only changes at or below these paths")
    .option("--checkpoint <checkpoint>", "what a saved state holds (its id or label), and what changed since")
    .addOption(form("--stat", "how many lines of each file", "stat"))
    .addOption(form("--summary", "how much changes in which folders", "summary"))
    .addOption(form("--name-only", "only the names", "nameOnly"))
    .addOption(form("-p, --patch", "the changes themselves, as a unified diff", "patch"))
    .option("--no-pager", "print at once, also at a terminal")
    .action(async (plan: string | undefined, given: readonly string[], options: DiffOptions) => {
      const { checkpoint } = options;
      const wanted = {
        paths: given.map(parsePathFilter),
        ...(checkpoint !== undefined && { checkpoint }),
      };
      await openToRead(context, async (drydock) => {
        const look = { drydock, plan, wanted };
        if (context.options.json) return printDocument(context, look, options);
        if (options.patch) return printPatch(context, look, options);
        const rows = rowsFor(options, context);
        const diff = await drydock.plans.diff(plan, { ...wanted, onChange: (change) => rows.add(change) });
        const text = async function* () {
          yield* context.output.textOf(rows.lines(diff));
        };
        return await printPaged(context, text, options.pager !== false);
      });
    });
}

/** What to look at. */
interface Look {
  readonly drydock: Services;
  readonly plan: string | undefined;
  readonly wanted: { readonly paths: readonly string[]; readonly checkpoint?: string };
}

function rowsFor({ stat, summary, nameOnly }: DiffOptions, { output }: CommandContext): DiffLines {
  if (nameOnly) return new ChangeNames();
  if (summary) return new SummaryLines(output.styles);
  return stat ? new ChangeStat(output.styles) : new ChangeList(output.styles);
}

async function printDocument(
  { output }: CommandContext,
  { drydock, plan, wanted }: Look,
  { patch, summary: isSummary }: DiffOptions,
): Promise<void> {
  if (isSummary) return output.document(await summaryOf(drydock.plans, plan, wanted));
  const changes = new JsonList();
  const diff = await drydock.plans.diff(plan, { ...wanted, onChange: (change) => changes.add(change) });
  const text = patch ? (await Array.fromAsync(drydock.plans.patch(plan, wanted))).join("") : undefined;
  output.document({ ...diff, changes, patch: text });
}

/**
 * Prints the patch while it is made. A program gets the exact bytes, so that it can apply the patch. A person
 * also gets notes on what a patch does not show.
 */
async function printPatch(
  context: CommandContext,
  { drydock, plan, wanted }: Look,
  { pager }: DiffOptions,
): Promise<void> {
  const { output } = context;
  let notes: readonly string[] = [];
  const onDiff = (diff: PlanDiff) => {
    notes = [...patchNotes(diff, output.errorStyles)];
  };
  const onlyText = output.terminal.interactive;
  const text = async function* () {
    for await (const part of drydock.plans.patch(plan, { ...wanted, onDiff, onlyText }))
      yield output.terminal.interactive ? terminalPatch(part, output.styles) : part;
  };
  await printPaged(context, text, pager !== false);
  if (output.terminal.progress && output.failure === undefined) for (const note of notes) output.notice(note);
}
