import { displayPath } from "../../../core/paths/byte-path.ts";
import type { DoctorReport } from "../../../plans/doctor.ts";
import { oneLine } from "../../terminal/printable.ts";
import type { Styles } from "../styles.ts";
import { type Cell, textTable } from "../text-table.ts";

/** What works on this machine. */
export function doctorLines(report: DoctorReport, styles: Styles): readonly string[] {
  const mark = (good: boolean) =>
    good ? { text: "ok", style: styles.green } : { text: "no", style: styles.red };
  return [
    ...textTable([
      [
        { text: "machine", style: styles.dim },
        `${report.platform}, kernel ${report.kernel}, Node ${report.node.replace(/^v/, "")}`,
      ],
      [{ text: "state", style: styles.dim }, displayPath(report.stateDir)],
    ]),
    ...section(
      "Checks",
      styles,
      report.checks.map(({ name, ok, detail }) => [mark(ok), name, oneLine(detail)]),
    ),
    ...section(
      "Strategies, strongest first",
      styles,
      report.strategies
        .toSorted((a, b) => b.strength - a.strength)
        .flatMap(({ name, works, detail, strength, loses = [], ways = [] }) => [
          [mark(works), name, String(strength), oneLine(detail)],
          ...(works && loses.length > 0 ? [["", "", "", { text: notKept(loses), style: styles.dim }]] : []),
          ...ways.map((way) => [mark(way.works), `  ${way.name}`, "", oneLine(way.detail)]),
        ]),
    ),
    ...section(
      "What each type of resource would get",
      styles,
      report.resourceTypes.map(({ type, strategy, why }) => [type, strategy ?? "-", oneLine(why)]),
    ),
  ];
}

/** The losses as words: the capabilities write "folder-renames". */
function notKept(losses: readonly string[]): string {
  return `does not keep: ${losses.map((loss) => loss.replaceAll("-", " ")).join(", ")}`;
}

function section(
  title: string,
  styles: Styles,
  rows: readonly (readonly (Cell | string)[])[],
): readonly string[] {
  return rows.length === 0 ? [] : ["", styles.bold(title), ...textTable(rows)];
}
