import { findPlace } from "../../engine/workspace/workspace.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import { type KnownPlace, placesOf } from "../../sandboxes/remains/known-places.ts";
import { isThere } from "../../system/data/existence.ts";
import type { PlanPlace } from "../plan-views.ts";
import { sizeOf } from "./place-size.ts";

/**
 * Everything that a plan has in the world, by the records: workspaces with their homes, mounts, branches,
 * what its undo needs, the folder of its commands. A path at which nothing is any more is left out.
 */
export async function planPlaces(session: PlanSession, planId: string): Promise<readonly PlanPlace[]> {
  const { store, stateDir } = session;
  const intents = Map.groupBy(await store.intents(), ({ sandboxId }) => sandboxId);
  const places: KnownPlace[] = [];
  for (const record of await store.sandboxesOf(planId)) {
    const { sandboxId } = record.ref;
    places.push(...placesOf(record, intents.get(sandboxId) ?? []));
    const workspace = findPlace(stateDir, sandboxId);
    if (workspace !== undefined) places.push({ kind: "folder", location: workspace.path });
    places.push({ kind: "folder", location: `${stateDir}/sandboxes/${sandboxId}` });
  }
  places.push({ kind: "run folder", location: `${stateDir}/runs/${planId}` });
  const there = places.filter(({ location }) => !location.startsWith("/") || isThere(location));
  return [...new Map(there.map((place) => [place.location, place])).values()].map((place) => {
    const bytes = place.kind === "mount" ? undefined : sizeOf(place.location);
    return { ...place, ...(bytes !== undefined && { bytes }) };
  });
}
