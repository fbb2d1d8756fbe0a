import { displayPath } from "../../../core/paths/byte-path.ts";
import type { RunFinding, RunOutcome } from "../../../run/run-once.ts";
import { ChangeStat, linesOf } from "../diff/diff-lines.ts";
import type { Styles } from "../styles.ts";
import { applyLines } from "./apply-lines.ts";
import { scratchLines, waysOn } from "./outside-lines.ts";

/** How many lines of changes a person gets without asking for more. */
const MOST_LINES = 30;

/** The results of a command: its changes, and the files that it wrote besides. */
export function* findingLines(
  { diff, scratch }: Pick<RunFinding, "diff" | "scratch">,
  styles: Styles,
  { home, mostLines = MOST_LINES }: FindingOptions,
): Generator<string> {
  yield* linesOf(diff, new ChangeStat(styles, mostLines));
  yield* scratchLines(scratch, home);
}

interface FindingOptions {
  readonly home: string | undefined;
  readonly mostLines: number | undefined;
}

interface OutcomeOptions {
  /** The user asked to apply it. */
  readonly wanted: boolean;
  readonly home: string | undefined;
}

/** The outcome of a run. */
export function outcomeLines(run: RunOutcome, { wanted, home }: OutcomeOptions): readonly string[] {
  const { planId, outcome, apply, scratch, stays = [] } = run;
  const landed = run.landed === true ? landedLines(planId) : [];
  switch (outcome) {
    case "unchanged":
      return [
        run.landed === true ? "No more changes." : "No changes.",
        ...landed,
        ...scratchLines(scratch, home),
      ];
    case "discarded":
      return [
        stays.length === 0
          ? "Discarded."
          : `Discarded, but for the changes of ${stays.map(displayPath).join(", ")}: they were made in place, and stay.`,
        ...landed,
      ];
    case "applied":
      return apply === undefined ? [] : applyLines(apply);
    case "kept":
      return [
        `${wanted ? `Not applied, because the command ${whyKept(run)}; kept` : "Kept"} as plan ${displayPath(planId)}.`,
        ...waysOn(planId, scratch, home),
        `  apply it:   drydock plan apply ${planId}`,
        `  discard it: drydock plan cancel ${planId}`,
      ];
  }
}

/** Says of a plan that was closed what becomes of the parts that had landed. */
export function landedLines(planId: string): readonly string[] {
  return ["What had landed of it stays.", `  undo it: drydock plan undo ${displayPath(planId)}`];
}

/** Why a run was kept that the user wanted to apply. */
function whyKept({ exitCode, limit }: RunOutcome): string {
  if (limit !== undefined) return "met a limit";
  return exitCode === 0 ? "wrote outside of the plan too" : `ended with exit code ${exitCode}`;
}
