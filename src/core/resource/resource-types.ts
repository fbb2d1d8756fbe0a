import { BUILT_IN_RESOURCE_TYPES } from "./resource.ts";

/**
 * What can be done with a resource of a type in a plan:
 * - `read`: its content can be read.
 * - `write`: changes of it can be made, and land.
 * - `sandbox`: it can have a sandbox of its own. What can't shares that of a resource that contains it.
 * - `checkpoint`: plans with it can be saved.
 */
export const RESOURCE_CAPABILITIES = ["read", "write", "sandbox", "checkpoint"] as const;
export type ResourceCapability = (typeof RESOURCE_CAPABILITIES)[number];

/**
 * A type of resource as a config declares one; the built-in ones are defined in the same form. What is left
 * out comes from `extends`.
 */
export interface ResourceTypeDefinition {
  readonly name: string;
  /** The type that this one is like. Absent: it is like none. */
  readonly extends?: string;
  /** The strategy of resources that name none. */
  readonly sandboxStrategy?: string;
  /** The strategies that may isolate it. Absent: all that can. */
  readonly strategies?: readonly string[];
  /** The types of resource that it may be inside of. Absent: all. */
  readonly parentTypes?: readonly string[];
  /** The types of resource that may be inside of it. Absent: all. */
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
  // What is mounted on a folder is no part of the folder, so it is inside of nothing.
  "fs-mount": { extends: "fs-directory", parentTypes: NOTHING },
  "git-checkout": {
    parentTypes: ["fs-directory"],
    childTypes: ["fs-directory", "fs-file", "sqlite-database"],
  },
  "sqlite-database": { parentTypes: ["fs-directory", "git-checkout"], childTypes: NOTHING },
  "postgres-database": { parentTypes: NOTHING, childTypes: NOTHING },
  "mysql-database": { parentTypes: NOTHING, childTypes: NOTHING },
};

/** The types that Drydock knows by itself. */
const BUILT_IN_TYPE_DEFINITIONS: readonly ResourceTypeDefinition[] = BUILT_IN_RESOURCE_TYPES.map((name) => ({
  name,
  ...DEFINITIONS[name],
}));

/** A type with all that it has from those that it extends. */
export interface ResourceType extends ResourceTypeDefinition {
  readonly builtIn: boolean;
  /** Itself, what it extends, what that extends, and so on. */
  readonly lineage: readonly string[];
  readonly capabilities: readonly ResourceCapability[];
  /** The type of its lineage that names the strategy. */
  readonly strategyFrom?: string;
}

/** All types that are known: the built-in ones, and those that a config declares. */
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

  /**
   * A type. One that nobody declared may be known to a strategy of the user's own, which then says all that
   * there is to say of it.
   */
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

  /** Whether resources of the one type may be inside of those of the other. */
  mayContain(parent: string, child: string): boolean {
    const [outer, inner] = [this.get(parent), this.get(child)];
    return names(outer.childTypes, inner.lineage) && names(inner.parentTypes, outer.lineage);
  }

  #lineage(name: string): readonly ResourceTypeDefinition[] {
    const lineage: ResourceTypeDefinition[] = [];
    for (let at: string | undefined = name; at !== undefined; ) {
      const definition: ResourceTypeDefinition = this.#definitions.get(at) ?? { name: at };
      // The config refuses what leads back to itself.
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
