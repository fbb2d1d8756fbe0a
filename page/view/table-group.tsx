import type { ComponentChildren } from "preact";
import type { Change } from "../api/types.ts";
import { TableDiff } from "../diff/table-diff.tsx";
import type { Group } from "../model/change-list.ts";
import type { PlanModel } from "../model/plan-model.ts";

/** Whether the changes of a resource are rows and definitions, which the server can show as tables. */
export function isInTables({ plan }: PlanModel, resource: string): boolean {
  return plan.value?.resources.find(({ name }) => name === resource)?.type === "sqlite-database";
}

/** The rows of a statement's table that the plan changes, or why they can't be shown. */
export function RowsOfStatement({
  model,
  change: { resource, path },
}: {
  readonly model: PlanModel;
  readonly change: Change;
}): ComponentChildren {
  const type = model.plan.value?.resources.find(({ name }) => name === resource)?.type;
  if (type !== "postgres-database")
    return <p class="empty">The server does not tell which rows a statement changed.</p>;
  const version = model.diff.value?.digest ?? "";
  return (
    <>
      <p class="empty">All that the plan changes in the table of this statement:</p>
      <TableDiff {...{ plan: model.id, resource, path, version }} key={`${resource} ${path}`} />
    </>
  );
}

/** The changed rows of a group, if they are those of one table. */
export function TableGroup({
  model,
  group: { resource, folder, items },
}: {
  readonly model: PlanModel;
  readonly group: Group;
}): ComponentChildren {
  if (resource === undefined || folder === undefined || !isInTables(model, resource)) return null;
  if (!items.some(({ change }) => change.kind === "row")) return null;
  const version = model.diff.value?.digest ?? "";
  return <TableDiff {...{ plan: model.id, resource, path: folder, version }} key={folder} />;
}
