import { displayPath } from "../../../core/paths/byte-path.ts";
import type { LastingResource } from "../../../core/transaction.ts";
import type { ApplyResult, ParticipantResult } from "../../../plans/landing-views.ts";
import { textTable } from "../text-table.ts";

/** The result of an apply. */
export function applyLines(result: ApplyResult, apply: AskedApply = {}): readonly string[] {
  return [headline(result, apply), ...participantLines(result.participants)];
}

/** What the user asked for. */
interface AskedApply {
  /** Only to know what would land. */
  readonly dryRun?: boolean;
  /** Everything, and not a part. */
  readonly isWhole?: boolean;
}

function headline(result: ApplyResult, { dryRun = false, isWhole = false }: AskedApply): string {
  const { planId, state } = result;
  if (dryRun) return `Plan ${planId} can be applied: ${count(result)} would land. Nothing was changed.`;
  if (state !== "open") return `Applied plan ${planId}: ${count(result)} landed.`;
  return isWhole
    ? `Applied plan ${planId}: ${count(result)} landed. The plan stays open, because commands run in it.`
    : `Applied a part of plan ${planId}: ${count(result)} landed. The rest stays in the plan.`;
}

/** The result of an undo. */
export function undoLines(result: ApplyResult): readonly string[] {
  return [
    `${undid(result)} plan ${result.planId}: ${count(result)} taken back.`,
    ...participantLines(result.participants),
    ...(result.stays ?? []).map((stays) => `Not taken back: ${lastingText(stays)}.`),
  ];
}

/** What an undo leaves as it landed. */
export function lastingText({ resource, strategy, changes }: LastingResource): string {
  const what = changes === undefined ? "everything done in place" : changesText(changes);
  return `${displayPath(resource)}, ${what} (${strategy})`;
}

function undid({ state }: ApplyResult): string {
  if (state === "open") return "Undid the last part of";
  return state === "applied" ? "Undid the last landing, but not the parts before it, of" : "Undid";
}

function participantLines(participants: readonly ParticipantResult[]): readonly string[] {
  const rows = participants.map(({ resource, strategy, outcome, changes }) => [
    displayPath(resource),
    outcome === "unchanged" ? "unchanged" : changesText(changes),
    strategy,
  ]);
  return textTable(rows).map((line) => `  ${line}`);
}

function count({ participants }: ApplyResult): string {
  return changesText(participants.reduce((sum, { changes }) => sum + changes, 0));
}

function changesText(changes: number): string {
  return changes === 1 ? "1 change" : `${changes} changes`;
}
