import { BUILT_IN_RESOURCE_TYPES } from "./resource.ts";

/**
 * What a plan can do with a resource of a type:
 * - `read`: read its content.
 * - `write`: change it, and land the changes.
 * - `sandbox`: give it a sandbox of its own. Without this it shares the sandbox of the resource that contains
 *   it.
 * - `checkpoint`: save plans with it.
 */
export const RESOURCE_CAPABILITIES = ["read", "write", "sandbox", "checkpoint"] as const;
export type ResourceCapability = (typeof RESOURCE_CAPABILITIES)[number];

/**
 * A type of resource as a config declares it; the built-in types have the same form. Absent fields come from
 * `extends`.
 */
export interface ResourceTypeDefinition {
  readonly name: string;
  /** The type from which this one inherits. Absent: none. */
  readonly extends?: string;
  /** The strategy for resources that name none. */
  readonly sandboxStrategy?: string;
  /** The strategies that may isolate it. Absent: all that can. */
  readonly strategies?: readonly string[];
  /** The types of resource that may contain it. Absent: all. */
  readonly parentTypes?: readonly string[];
  /** The types of resource that it may contain. Absent: all. */
  readonly childTypes?: readonly string[];
  /** Absent: all of them. */
  readonly capabilities?: readonly ResourceCapability[];
}

type BuiltInTypeName = (typeof BUILT_IN_RESOURCE_TYPES)[number];

const IN_FOLDERS = ["fs-directory", "fs-file", "git-checkout", "sqlite-database"];
const NOTHING: readonly string[] = [];

const DEFINITIONS: { readonly [name in BuiltInTypeName]: Omit<ResourceTypeDefinition, "name"> } = {
  "fs-directory": { parentTypes: ["fs-directory", "git-checkout"], childTypes: IN_FOLDERS },
  "fs-file": { parentTypes: ["fs-directory", "git-checkout"], childTypes: NOTHING },
  // A mount on a folder is not part of that folder, so no resource contains it.
  "fs-mount": { extends: "fs-directory", parentTypes: NOTHING },
  "git-checkout": {
    // A bare repository may have its worktrees inside.
    parentTypes: ["fs-directory", "git-repository"],
    childTypes: ["fs-directory", "fs-file", "sqlite-database"],
  },
  "sqlite-database": { parentTypes: ["fs-directory", "git-checkout"], childTypes: NOTHING },
  "postgres-database": { parentTypes: NOTHING, childTypes: NOTHING },
  "mysql-database": { parentTypes: NOTHING, childTypes: NOTHING },
};

/** The built-in types. */
const BUILT_IN_TYPE_DEFINITIONS: readonly ResourceTypeDefinition[] = BUILT_IN_RESOURCE_TYPES.map((name) => ({
  name,
  ...DEFINITIONS[name],
}));

/** A type with everything that it inherits. */
export interface ResourceType extends ResourceTypeDefinition {
  readonly builtIn: boolean;
  /** The type itself, the type that it extends, and so on. */
  readonly lineage: readonly string[];
  readonly capabilities: readonly ResourceCapability[];
  /** The type of the lineage that names the strategy. */
  readonly strategyFrom?: string;
}

/** All known types: the built-in ones and those that a config declares. */
export class ResourceTypes {
  readonly #definitions: ReadonlyMap<string, ResourceTypeDefinition>;

  constructor(declared: readonly ResourceTypeDefinition[]) {
    this.#definitions = new Map([...BUILT_IN_TYPE_DEFINITIONS, ...declared].map((type) => [type.name, type]));
  }

  list(): readonly ResourceType[] {
    return [...this.#definitions.keys()].map((name) => this.get(name));
  }

  has(name: string): boolean {
    return this.#definitions.has(name);
  }

  /** A type by its name. An undeclared type may be known to a custom strategy, which then decides alone. */
  get(name: string): ResourceType {
    const lineage = this.#lineage(name);
    const first = <Key extends keyof ResourceTypeDefinition>(key: Key) =>
      lineage.find((type) => type[key] !== undefined);
    const inherited = <Key extends keyof ResourceTypeDefinition>(key: Key) => {
      const value = first(key)?.[key];
      return value === undefined ? {} : ({ [key]: value } as Pick<ResourceTypeDefinition, Key>);
    };
    const from = first("sandboxStrategy")?.name;
    const base = this.#definitions.get(name)?.extends;
    return {
      name,
      builtIn: BUILT_IN_RESOURCE_TYPES.some((known) => known === name),
      lineage: lineage.map((type) => type.name),
      ...(base !== undefined && { extends: base }),
      ...inherited("sandboxStrategy"),
      ...inherited("strategies"),
      ...inherited("parentTypes"),
      ...inherited("childTypes"),
      capabilities: first("capabilities")?.capabilities ?? RESOURCE_CAPABILITIES,
      ...(from !== undefined && { strategyFrom: from }),
    };
  }

  /** Whether resources of type `parent` may contain those of type `child`. */
  mayContain(parent: string, child: string): boolean {
    const [outer, inner] = [this.get(parent), this.get(child)];
    return names(outer.childTypes, inner.lineage) && names(inner.parentTypes, outer.lineage);
  }

  #lineage(name: string): readonly ResourceTypeDefinition[] {
    const lineage: ResourceTypeDefinition[] = [];
    for (let at: string | undefined = name; at !== undefined; ) {
      const definition: ResourceTypeDefinition = this.#definitions.get(at) ?? { name: at };
      // Ends, because the config refuses cycles.
      if (lineage.some((type) => type.name === definition.name)) break;
      lineage.push(definition);
      at = definition.extends;
    }
    return lineage;
  }
}

function names(listed: readonly string[] | undefined, lineage: readonly string[]): boolean {
  return listed === undefined || lineage.some((type) => listed.includes(type));
}
