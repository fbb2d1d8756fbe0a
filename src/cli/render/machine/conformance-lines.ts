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
    ...results.filter(({ outcome }) => outcome !== "excluded").flatMap((result) => linesOf(result, styles)),
    ...leftOut(results).map((line) => `  ${styles.dim(line)}`),
  ]);
  const counts = `${passed.length} passed, ${failed.length} failed, ${excluded.length} left out`;
  const verdict = failed.length === 0 ? styles.green("conforms") : styles.red("does not conform");
  return [...shown, "", `${report.strategy} ${verdict}: ${counts}.`];
}

function linesOf({ outcome, name, reason = "" }: CaseResult, styles: Styles): readonly string[] {
  if (outcome === "passed") return [`  ${styles.green("ok")}    ${oneLine(name)}`];
  const why = reason.split("\n").map((line) => `          ${oneLine(line)}`);
  return [`  ${styles.red("FAIL")}  ${oneLine(name)}`, ...why];
}

/** What is left out of a group: a line for each reason. */
function leftOut(results: readonly CaseResult[]): readonly string[] {
  const excluded = results.filter(({ outcome }) => outcome === "excluded");
  return [...Map.groupBy(excluded, ({ reason = "" }) => reason)].map(([reason, cases]) => {
    const [first] = cases;
    const what = cases.length === 1 && first !== undefined ? oneLine(first.name) : `${cases.length} left out`;
    return `-     ${what}: ${oneLine(reason)}`;
  });
}
