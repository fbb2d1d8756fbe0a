import { displayPath } from "../../../core/paths/byte-path.ts";
import type { RunFinding, RunOutcome } from "../../../run/run-once.ts";
import type { Styles } from "../styles.ts";
import { applyLines } from "./apply-lines.ts";
import { ChangeStat, linesOf } from "./diff-lines.ts";

/** How many lines of changes a person gets without asking for more. */
const MOST_LINES = 30;

/** The results of a command: its changes, and the files that it wrote besides. */
export function* findingLines(
  { diff, scratch }: Pick<RunFinding, "diff" | "scratch">,
  styles: Styles,
  mostLines: number = MOST_LINES,
): Generator<string> {
  yield* linesOf(diff, new ChangeStat(styles, mostLines));
  yield* scratchLines(scratch);
}

/** The files that the command wrote outside the plan. */
export function* scratchLines({ files }: RunFinding["scratch"]): Generator<string> {
  if (files > 0) yield `also wrote ${files === 1 ? "1 file" : `${files} files`} outside the plan; not landed`;
}

/** The outcome of a run. `wanted`: the user asked to apply it. */
export function outcomeLines(
  { planId, outcome, exitCode, limit, apply, scratch, stays = [] }: RunOutcome,
  wanted: boolean,
): readonly string[] {
  switch (outcome) {
    case "unchanged":
      return ["No changes.", ...scratchLines(scratch)];
    case "discarded":
      return [
        stays.length === 0
          ? "Discarded."
          : `Discarded, but for the changes of ${stays.map(displayPath).join(", ")}: they were made in place, and stay.`,
      ];
    case "applied":
      return apply === undefined ? [] : applyLines(apply, false);
    case "kept":
      return [
        `${wanted ? `Not applied, because the command ${limit === undefined ? `ended with exit code ${exitCode}` : "met a limit"}; kept` : "Kept"} as plan ${displayPath(planId)}.`,
        `  apply it:   drydock plan apply ${planId}`,
        `  discard it: drydock plan cancel ${planId}`,
      ];
  }
}
