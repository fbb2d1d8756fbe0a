import { UsageError } from "../../core/errors/errors.ts";
import { displayPath, isAtOrBelow } from "../../core/paths/byte-path.ts";
import type { PlanResource } from "../../core/plan.ts";
import type { Resource } from "../../core/resource/resource.ts";
import type { ResourceTypes } from "../../core/resource/resource-types.ts";

/** A resource with the strategy that was asked for, if any, and the source of that wish. */
export interface ResolvedResource {
  readonly resource: Resource;
  readonly wanted?: { readonly strategy: string; readonly by: string };
  /** The password from its URL. */
  readonly secret?: string;
  /** Its name in the config, and the name of its parent there. */
  readonly declaredAs?: string;
  readonly parent?: string;
}

/** A resource of a new plan that knows which other one contains it. */
export interface ContainedResource extends ResolvedResource {
  /** It shares the sandbox of this resource, at this path. */
  readonly within?: PlanResource["within"];
}

/** The files of a database, by the ends of their names. */
const BESIDE_A_DATABASE = ["", "-wal", "-shm", "-journal"];

/**
 * Finds out which resources of a plan contain others, and which sandboxes follow from that. A resource inside
 * another shares the sandbox of the nearest one around it that can have one. Only a database has a sandbox of
 * its own there; the folder around it excludes its files (`properties.without`, relative to the folder), and
 * a home excludes the state directory in it. Other overlaps are refused.
 */
export function contained(
  resolved: readonly ResolvedResource[],
  types: ResourceTypes,
  stateDir: string,
): readonly ContainedResource[] {
  const containments = new Map(
    resolved.map((item) => [item.resource.id, new Containment(item, resolved, types)]),
  );
  for (const containment of containments.values()) containment.check();
  return resolved.map((item) => {
    const containment = containments.get(item.resource.id) as Containment;
    const boundary = boundaryAbove(containment, containments);
    if (containment.hasOwnSandbox) {
      const without = [...databasesIn(containment, containments), ...stateIn(item.resource, stateDir)];
      return { ...item, resource: withExcluded(containment, without) };
    }
    if (boundary === undefined) throw notAlone(item.resource);
    assertNoOther(item, boundary);
    const within = { resourceId: boundary.resource.id, path: pathFrom(boundary.resource, item.resource) };
    return { ...item, resource: containment.resource, within };
  });
}

class Containment {
  readonly item: ResolvedResource;
  readonly container: ResolvedResource | undefined;
  readonly #types: ResourceTypes;
  readonly #declared: ResolvedResource | undefined;

  constructor(item: ResolvedResource, all: readonly ResolvedResource[], types: ResourceTypes) {
    this.item = item;
    this.#types = types;
    this.container = nearestAround(item, all);
    this.#declared =
      item.parent === undefined ? undefined : all.find(({ declaredAs }) => declaredAs === item.parent);
  }

  /** The resource, with the one that contains it. */
  get resource(): Resource {
    const parent = this.container ?? this.#declared;
    return parent === undefined
      ? this.item.resource
      : { ...this.item.resource, parentId: parent.resource.id };
  }

  get isDatabase(): boolean {
    const { lineage, capabilities } = this.#types.get(this.item.resource.type);
    return lineage.includes("sqlite-database") && capabilities.includes("sandbox");
  }

  /** Whether it gets a sandbox if nothing around it has one. */
  get maySandbox(): boolean {
    return this.#types.get(this.item.resource.type).capabilities.includes("sandbox");
  }

  get hasOwnSandbox(): boolean {
    return this.maySandbox && (this.container === undefined || this.isDatabase);
  }

  check(): void {
    const { resource } = this.item;
    if (this.#declared !== undefined && !isPlausible(this.#declared.resource, resource))
      throw new UsageError(
        `${displayPath(resource.location)} is not inside of ${displayPath(this.#declared.resource.location)}, though the config names that as its parent.`,
        { hint: `Correct parent: of ${resource.name} in the config.`, code: "WRONG_PARENT" },
      );
    const outer = (this.container ?? this.#declared)?.resource;
    if (outer === undefined || this.#types.mayContain(outer.type, resource.type)) return;
    throw new UsageError(
      `${displayPath(resource.location)} and ${displayPath(outer.location)} overlap, and a ${resource.type} can't be inside of a ${outer.type}.`,
      {
        hint: "Use only one of them, or types that allow it: parent_types and child_types in the config.",
        code: "OVERLAP",
      },
    );
  }
}

/** The innermost other resource around it. */
function nearestAround(
  { resource }: ResolvedResource,
  all: readonly ResolvedResource[],
): ResolvedResource | undefined {
  const around = all.filter(
    (other) => other.resource.id !== resource.id && isInside(resource, other.resource),
  );
  return around.toSorted((a, b) => b.resource.location.length - a.resource.location.length)[0];
}

function isInside(inner: Resource, outer: Resource): boolean {
  return (
    inner.location.startsWith("/") &&
    inner.location !== outer.location &&
    isAtOrBelow(inner.location, outer.location)
  );
}

/** A resource without a path may be declared to be anywhere. */
function isPlausible(parent: Resource, child: Resource): boolean {
  return !parent.location.startsWith("/") || !child.location.startsWith("/") || isInside(child, parent);
}

/** The nearest resource around it with a sandbox of its own. A database contains nothing. */
function boundaryAbove(
  start: Containment,
  all: ReadonlyMap<string, Containment>,
): ResolvedResource | undefined {
  for (let at = start.container; at !== undefined; ) {
    const containment = all.get(at.resource.id);
    if (containment?.hasOwnSandbox === true) return at;
    at = containment?.container;
  }
  return undefined;
}

/** The files of databases in a folder, relative to it. */
function databasesIn(
  { resource }: Containment,
  containments: ReadonlyMap<string, Containment>,
): readonly string[] {
  const inside = [...containments.values()].filter(
    (other) => other.isDatabase && boundaryAbove(other, containments)?.resource.id === resource.id,
  );
  return inside.flatMap(({ item }) =>
    BESIDE_A_DATABASE.map((suffix) => `${pathFrom(resource, item.resource)}${suffix}`),
  );
}

/** The state directory, if it is in the folder, as it is in a home. */
function stateIn({ location }: Resource, stateDir: string): readonly string[] {
  const isIn = location.startsWith("/") && isAtOrBelow(stateDir, location);
  return isIn ? [stateDir.slice(location.length + 1)] : [];
}

/** The resource with the paths that it excludes. */
function withExcluded({ resource }: Containment, without: readonly string[]): Resource {
  if (without.length === 0) return resource;
  return { ...resource, properties: { ...resource.properties, without } };
}

function pathFrom(outer: Resource, inner: Resource): string {
  return inner.location.slice(outer.location === "/" ? 1 : outer.location.length + 1);
}

function notAlone({ name, type }: Resource): UsageError {
  return new UsageError(`${name} can't have a sandbox of its own: its type ${type} does not allow it.`, {
    hint: "Add the folder that contains it to the plan.",
    code: "NO_SANDBOX",
  });
}

function assertNoOther({ resource, wanted }: ResolvedResource, boundary: ResolvedResource): void {
  if (wanted === undefined || wanted.strategy === boundary.wanted?.strategy) return;
  throw new UsageError(
    `${resource.name} is inside of ${boundary.resource.name} and shares its sandbox, so it can't have a strategy of its own (${wanted.strategy}).`,
    {
      hint: `Leave its strategy out, or put it into a plan without ${boundary.resource.name}.`,
      code: "OVERLAP",
    },
  );
}
