import { UsageError } from "../../core/errors/errors.ts";

/** The fleet that this machine is a host of, as open services have it. */
export function fleetOf<Fleet>({ fleet }: { readonly fleet?: Fleet }): Fleet {
  if (fleet !== undefined) return fleet;
  throw new UsageError("This machine is a host of no fleet.", {
    hint: "Name the fleet's database as fleet.database in drydock.yaml.",
    code: "NO_FLEET",
  });
}
