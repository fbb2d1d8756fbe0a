import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { ResourceType, ResourceTypes } from "../../core/resource/resource-types.ts";
import { nearestName } from "../../core/values/nearest-name.ts";

/** A type as `resource-type list` and `show` answer it. Null means no limit. */
export interface ResourceTypeView {
  readonly name: string;
  readonly builtIn: boolean;
  readonly extends: string | null;
  readonly sandboxStrategy: string | null;
  readonly strategies: readonly string[] | null;
  readonly parentTypes: readonly string[] | null;
  readonly childTypes: readonly string[] | null;
  readonly capabilities: readonly string[];
}

export function resourceTypeView(type: ResourceType): ResourceTypeView {
  const { name, builtIn, capabilities } = type;
  return {
    name,
    builtIn,
    extends: type.extends ?? null,
    sandboxStrategy: type.sandboxStrategy ?? null,
    strategies: type.strategies ?? null,
    parentTypes: type.parentTypes ?? null,
    childTypes: type.childTypes ?? null,
    capabilities,
  };
}

/** A type by its name, which must be known. */
export function knownType(types: ResourceTypes, name: string): ResourceTypeView {
  if (types.has(name)) return resourceTypeView(types.get(name));
  const known = types.list().map((type) => type.name);
  const nearest = nearestName(name, known);
  throw new UsageError(`There is no type of resource called '${displayPath(name)}'.`, {
    hint: `${nearest === undefined ? "" : `Did you mean ${nearest}? `}Known types: ${known.join(", ")}.`,
    code: "UNKNOWN_TYPE",
  });
}
