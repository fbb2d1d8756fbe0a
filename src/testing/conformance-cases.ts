import { checkpointCases } from "./cases/checkpoint-cases.ts";
import { concurrencyCases } from "./cases/concurrency-cases.ts";
import { contentCases } from "./cases/content-cases.ts";
import { contractCases } from "./cases/contract-cases.ts";
import { diffCases } from "./cases/diff-cases.ts";
import { entryCases } from "./cases/entry-cases.ts";
import { exactnessCases } from "./cases/exactness-cases.ts";
import { isolationCases } from "./cases/isolation-cases.ts";
import { conflictCases } from "./cases/landing/conflict-cases.ts";
import { crashCases } from "./cases/landing/crash-cases.ts";
import { lateRequestCases } from "./cases/landing/late-request-cases.ts";
import { nothingToCommitCases } from "./cases/landing/nothing-to-commit-cases.ts";
import { partCases } from "./cases/landing/part-cases.ts";
import { twoPhaseCases } from "./cases/landing/two-phase-cases.ts";
import { undoCases } from "./cases/landing/undo-cases.ts";
import { lifeCycleCases } from "./cases/life-cycle-cases.ts";
import { pathSafetyCases } from "./cases/path-safety-cases.ts";
import { CONFORMANCE_GROUPS, type ConformanceCase } from "./conformance-case.ts";

const ALL: readonly ConformanceCase[] = [
  ...contractCases,
  ...lifeCycleCases,
  ...isolationCases,
  ...diffCases,
  ...pathSafetyCases,
  ...exactnessCases,
  ...entryCases,
  ...nothingToCommitCases,
  ...twoPhaseCases,
  ...undoCases,
  ...checkpointCases,
  ...conflictCases,
  ...contentCases,
  ...concurrencyCases,
  ...crashCases,
  ...lateRequestCases,
  ...partCases,
];

/** The conformance suite: what has to hold for every strategy, built in or not. Group by group. */
export const conformanceCases: readonly ConformanceCase[] = CONFORMANCE_GROUPS.flatMap((group) =>
  ALL.filter((candidate) => candidate.group === group),
);
