import type { PlanRecord } from "../../core/plan.ts";
import { homePath } from "../../engine/workspace/workspace.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { type KnownPlace, placesOf } from "../../sandboxes/remains/known-places.ts";
import type { RunFolders } from "../../sandboxes/remains/run-folders.ts";
import type { Uses } from "../../sandboxes/remains/uses.ts";
import { isThere } from "../../system/data/existence.ts";

export interface PlanPlacesParts {
  readonly session: PlanSession;
  readonly folders: RunFolders;
  readonly uses: Uses;
}

/** A place of a plan, and the resource that it is for. */
export type FoundPlace = KnownPlace & { readonly resource?: string };

/**
 * Everything that a plan has in the world: what its sandboxes and undo records have, what its commands wrote,
 * its passwords, and its running commands.
 */
export async function placesOfPlan(
  { session, folders, uses }: PlanPlacesParts,
  plan: PlanRecord,
): Promise<readonly FoundPlace[]> {
  const { store, stateDir, remains } = session;
  const intents = Map.groupBy(await store.intents(), ({ sandboxId }) => sandboxId);
  const names = new Map(plan.resources.map(({ resource }) => [resource.id, resource.name]));
  const ofSandboxes = (await store.sandboxesOf(plan.id)).flatMap((record): readonly FoundPlace[] => {
    const { sandboxId, resourceId } = record.ref;
    const known = placesOf(record, intents.get(sandboxId) ?? []);
    const home = { kind: "folder", location: homePath(stateDir, sandboxId) };
    const all = known.some(({ location }) => location === home.location) ? known : [...known, home];
    const resource = names.get(resourceId);
    return all.map((place) => ({ ...place, ...(resource !== undefined && { resource }) }));
  });
  const secrets = remains.secretsPlace(plan.id);
  const found = [...ofSandboxes, ...folders.placesOf(plan.id), ...(secrets === undefined ? [] : [secrets])];
  return [
    ...found.filter(({ location }) => !location.startsWith("/") || isThere(location)),
    ...uses
      .living(plan.id)
      .map(({ command, owner }) => ({ kind: "command", location: `pid ${owner.pid}: ${command}` })),
  ];
}
