import type { ComponentChildren } from "preact";
import { TableDiff } from "../diff/table-diff.tsx";
import type { Group } from "../model/change-list.ts";
import type { PlanModel } from "../model/plan-model.ts";

/** Whether the changes of a resource are rows and definitions, which the server can show as tables. */
export function isInTables({ plan }: PlanModel, resource: string): boolean {
  return plan.value?.resources.find(({ name }) => name === resource)?.type === "sqlite-database";
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
