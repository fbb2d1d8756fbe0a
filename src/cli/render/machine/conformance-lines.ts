import type { CaseResult, ConformanceReport } from "../../../testing/run-conformance.ts";
import { oneLine } from "../../terminal/printable.ts";
import type { Styles } from "../styles.ts";

/** The results of the conformance suite, group by group. */
export function conformanceLines(report: ConformanceReport, styles: Styles): readonly string[] {
  const { passed, failed, excluded } = report;
  const groups = Map.groupBy([...passed, ...failed, ...excluded], ({ group }) => group);
  const shown = [...groups].flatMap(([group, results]) => [
    "",
    styles.bold(group),
    ...results.flatMap((result) => linesOf(result, styles)),
  ]);
  const counts = `${passed.length} passed, ${failed.length} failed, ${excluded.length} left out`;
  const verdict = failed.length === 0 ? styles.green("conforms") : styles.red("does not conform");
  return [...shown, "", `${report.strategy} ${verdict}: ${counts}.`];
}

function linesOf({ outcome, name, reason = "" }: CaseResult, styles: Styles): readonly string[] {
  if (outcome === "passed") return [`  ${styles.green("ok")}    ${oneLine(name)}`];
  if (outcome === "excluded") return [`  ${styles.dim(`-     ${oneLine(name)}: ${oneLine(reason)}`)}`];
  const why = reason.split("\n").map((line) => `          ${oneLine(line)}`);
  return [`  ${styles.red("FAIL")}  ${oneLine(name)}`, ...why];
}
