import { UsageError } from "../../../core/errors/errors.ts";
import type { Services } from "../../../services.ts";

/** The fleet that this machine is a host of. */
export function fleetOf({ fleet }: Services): NonNullable<Services["fleet"]> {
  if (fleet !== undefined) return fleet;
  throw new UsageError("This machine is a host of no fleet.", {
    hint: "Name the fleet's database as fleet.database in drydock.yaml.",
    code: "NO_FLEET",
  });
}
