import type { CaseResult, ConformanceReport } from "./run-conformance.ts";

/** The report as plain data, for a document: without errors. */
export function conformanceDocument({ strategy, passed, failed, excluded }: ConformanceReport) {
  const plain = ({ name, group, reason }: CaseResult) => ({ name, group, ...(reason && { reason }) });
  return {
    strategy,
    passed: passed.map(plain),
    failed: failed.map(plain),
    excluded: excluded.map(plain),
  };
}
