import type { SandboxRef } from "../../../core/sandbox.ts";
import type { IntendedPlace } from "../../../core/strategy.ts";
import { serverKind } from "../../../database/server/server-url.ts";

/**
 * Everything that a sandbox may create. All of it is known in advance, because the names contain the ids of
 * plan and resource.
 */
export function placesOf(
  { planId, resourceId }: SandboxRef,
  location: string,
  folder: string,
): IntendedPlace[] {
  const places = [
    { kind: "process", location: folder },
    { kind: "prepared transaction", location: `${location}#drydock-${planId}-${resourceId}` },
  ];
  if (serverKind(location) === "mysql")
    places.push({ kind: "marker table", location: `${location}#drydock_${planId}_${resourceId}` });
  return places;
}
