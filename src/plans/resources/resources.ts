import { strategyInForce } from "../../config/inline-strategies.ts";
import { type DeclaredResource, RESOURCE_STARTS, type Settings } from "../../config/settings.ts";
import { UnsupportedError, UsageError } from "../../core/errors/errors.ts";
import { baseName, bytesFromPath, displayPath } from "../../core/paths/byte-path.ts";
import type { PlanResource } from "../../core/plan.ts";
import { splitHost } from "../../core/resource/host-location.ts";
import { BUILT_IN_RESOURCE_TYPES, type Resource } from "../../core/resource/resource.ts";
import type { ResourceType, ResourceTypes } from "../../core/resource/resource-types.ts";
import { splitSecret } from "../../core/resource/secret-url.ts";
import type { Secrets } from "../../sandboxes/remains/plan-secrets.ts";
import { isThere } from "../../system/data/existence.ts";
import { factsOfPath, firstBytes, realPathOf } from "../../system/data/locations.ts";
import { newId } from "../../system/state/new-id.ts";
import type { ResourceRequest } from "../plan-views.ts";
import { type ContainedResource, contained, type ResolvedResource } from "./containment.ts";
import { withRepositories } from "./outside-repositories.ts";

type StrategyFor = (item: ResolvedResource) => Promise<string>;

const LONGEST_PATH = 4000;
const SQLITE_MAGIC = "SQLite format 3\0";
const URL_TYPES: { readonly [scheme: string]: string } = {
  "postgres:": "postgres-database",
  "postgresql:": "postgres-database",
  "mysql:": "mysql-database",
  "mariadb:": "mysql-database",
};

/**
 * Resolves the resources that the user gave: names of the config or locations, with links resolved and types
 * detected. Refuses, before anything is made, locations that do not exist, are not of their type, or are not
 * safe.
 */
export class ResourceResolver {
  readonly #settings: Settings;
  readonly #types: ResourceTypes;
  readonly #cwd: string;
  readonly #stateDir: string;
  readonly #host: string | undefined;

  /** `host` is the name of this machine in its fleet. */
  constructor(settings: Settings, types: ResourceTypes, cwd: string, stateDir: string, host?: string) {
    this.#host = host;
    this.#settings = settings;
    this.#types = types;
    this.#cwd = cwd;
    this.#stateDir = realPathOf(stateDir) ?? stateDir;
  }

  /**
   * The requests for each host of the fleet; those for this machine have none. A request may name a resource
   * of the config that is on another host.
   */
  byHost(requests: readonly ResourceRequest[]): ReadonlyMap<string | undefined, readonly ResourceRequest[]> {
    const placed = requests.map((request) => {
      const declared = this.#settings.resources.find(({ name }) => name === request.location);
      const at = splitHost(declared?.location ?? request.location);
      if (at === undefined || isThere(this.#absolute(request.location))) return { host: undefined, request };
      const merged = declared === undefined ? request : { ...fromDeclared(declared), ...request };
      const there = { ...merged, location: at.location };
      return { host: at.host === this.#host ? undefined : at.host, request: there };
    });
    const hosts = Map.groupBy(placed, ({ host }) => host);
    return new Map([...hosts].map(([host, items]) => [host, items.map(({ request }) => request)]));
  }

  /** Refuses resources of other hosts. */
  assertHere(requests: readonly ResourceRequest[]): void {
    for (const host of this.byHost(requests).keys())
      if (host !== undefined)
        throw new UnsupportedError(
          `A resource of another host, ${host}, joins a plan only when it is made.`,
          {
            hint: "Make a plan over all resources from the start.",
          },
        );
  }

  /** What a type allows. */
  typeOf({ type }: Resource): ResourceType {
    return this.#types.get(type);
  }

  /** `strategyFor` says which strategy a resource would get. */
  async resolveAll(
    requests: readonly ResourceRequest[],
    strategyFor: StrategyFor,
  ): Promise<readonly ContainedResource[]> {
    const resolved = await this.resolve(requests, strategyFor);
    assertDistinct(resolved.map(({ resource }) => resource));
    return contained(resolved, this.#types, this.#stateDir);
  }

  /** Resolves resources, with the repositories that belong to them, without looking at how they overlap. */
  async resolve(
    requests: readonly ResourceRequest[],
    strategyFor: StrategyFor,
  ): Promise<readonly ResolvedResource[]> {
    if (requests.length === 0)
      throw new UsageError("No resource is named, and one is needed.", { code: "NO_RESOURCE" });
    const resolved = await withRepositories(
      requests.map((request) => this.#resolve(request)),
      strategyFor,
      ({ type }) => this.#baseType(type) === "git-checkout",
    );
    for (const { resource } of resolved)
      if (resource.location.startsWith("/")) this.#assertSafe(resource.location, resource.location);
    return resolved;
  }

  /** Resources that join these of a plan. Refuses what would change the sandbox of one of these. */
  joined(known: readonly PlanResource[], added: readonly ResolvedResource[]): readonly ContainedResource[] {
    const ids = new Set(added.map(({ resource }) => resource.id));
    const before = known.map(({ resource, strategy }) => ({
      resource,
      wanted: { strategy, by: "the plan has it" },
    }));
    assertDistinct([...before, ...added].map(({ resource }) => resource));
    for (const { resource } of known)
      if (added.some((other) => isInside(resource.location, other.resource.location)))
        throw overlapOf(resource);
    const all = contained([...before, ...added], this.#types, this.#stateDir);
    for (const item of all.filter(({ resource }) => !ids.has(resource.id))) assertAsBefore(item, known);
    return all.filter(({ resource }) => ids.has(resource.id));
  }

  #resolve(request: ResourceRequest): ResolvedResource {
    const declared = this.#settings.resources.find(({ name }) => name === request.location);
    const merged =
      declared === undefined
        ? request
        : { ...fromDeclared(declared), ...request, location: declared.location };
    const { location, secret } = splitSecret(this.#location(merged.location));
    const type = merged.type ?? detectType(location);
    const resource: Resource = {
      id: newId(),
      name: merged.name ?? defaultName(location),
      type,
      location,
      ...lineageOf(this.#types.get(type)),
      properties: merged.from === undefined ? {} : { from: merged.from },
    };
    assertName(resource.name);
    assertStart(resource, this.#baseType(type), merged.from);
    assertKind(resource, this.#baseType(type));
    const by =
      request.strategy !== undefined
        ? "asked for when the plan was made"
        : "named by the resource in the config";
    const strategy = merged.strategy && strategyInForce(merged.strategy, this.#cwd);
    return {
      resource,
      ...(strategy !== undefined && { wanted: { strategy, by } }),
      ...(secret !== undefined && { secret }),
      ...(declared !== undefined && { declaredAs: declared.name }),
      ...(declared?.parent !== undefined && { parent: declared.parent }),
    };
  }

  /** The built-in type from which a type inherits, or the type itself. */
  #baseType(type: string): string {
    const { lineage } = this.#types.get(type);
    return lineage.find((name) => BUILT_IN_RESOURCE_TYPES.some((known) => known === name)) ?? type;
  }

  #absolute(given: string): string {
    return given.startsWith("/") ? given : `${this.#cwd}/${given}`;
  }

  #location(given: string): string {
    if (given === "")
      throw new UsageError("The location of a resource is empty.", { hint: "Give a path or a URL." });
    const scheme = /^[a-z][a-z0-9+.-]*:(?=\/\/)/.exec(given)?.[0];
    if (scheme !== undefined) return given;
    const absolute = this.#absolute(given);
    if (bytesFromPath(absolute).length > LONGEST_PATH) {
      throw new UsageError(
        `The path ${displayPath(given.slice(0, 60))}… is longer than ${LONGEST_PATH} bytes.`,
        {
          hint: "Use a shorter path, or a link to the folder.",
          code: "PATH_TOO_LONG",
        },
      );
    }
    const real = resolvePath(absolute);
    if (real === undefined)
      throw new UsageError(`There is nothing at ${displayPath(given)}.`, {
        hint: "Check the path; a resource has to exist.",
        code: "NO_SUCH_RESOURCE",
      });
    this.#assertSafe(real, given);
    return real;
  }

  #assertSafe(real: string, given: string): void {
    const unsafe = (why: string) =>
      new UsageError(`${displayPath(given)} can't be a resource: ${why}.`, {
        hint: "Choose a folder of your own.",
        code: "UNSAFE_RESOURCE",
      });
    if (real === "/") throw unsafe("it is the root of the file system");
    if (isInside(real, this.#stateDir)) throw unsafe("it is in Drydock's own state directory");
    if (real.split("/").some((name) => /^\.drydock-[0-9A-HJKMNP-TV-Z]{26}-/.test(name)))
      throw unsafe("it is inside another sandbox");
  }
}

function resolvePath(absolute: string): string | undefined {
  try {
    return realPathOf(absolute);
  } catch (thrown) {
    if (!(thrown instanceof Error)) throw thrown;
    throw new UsageError(`${displayPath(absolute)} can't be looked at: ${thrown.message}.`, {
      hint: "Check that you may enter every folder on the way.",
      cause: thrown,
      code: "NO_ACCESS",
    });
  }
}

function fromDeclared({ name, type, strategy, from }: DeclaredResource): Partial<ResourceRequest> {
  return {
    name,
    ...(type !== undefined && { type }),
    ...(strategy !== undefined && { strategy }),
    ...(from !== undefined && { from }),
  };
}

/** Only the sandbox of a git checkout can begin with another state than the present one. */
function assertStart({ name }: Resource, type: string, from: string | undefined): void {
  if (from === undefined) return;
  const hint = `'from' is ${RESOURCE_STARTS.join(" or ")}, and only for a git checkout.`;
  if (!RESOURCE_STARTS.some((known) => known === from))
    throw new UsageError(`The sandbox of ${name} can't begin with '${displayPath(from)}'.`, { hint });
  if (type !== "git-checkout")
    throw new UsageError(`${name} is no git checkout (${type}), so 'from' makes no sense for it.`, { hint });
}

/** The lineage, if it says more than the type. */
function lineageOf({ lineage }: ResourceType): Pick<Resource, "lineage"> {
  return lineage.length > 1 ? { lineage } : {};
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function detectType(location: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:(?=\/\/)/.exec(location)?.[0];
  if (scheme !== undefined) {
    const type = URL_TYPES[scheme];
    if (type === undefined)
      throw new UsageError(`No type of resource is known for ${scheme}//.`, {
        hint: "Name its type, as in type=NAME.",
      });
    return type;
  }
  const kind = factsOfPath(location)?.kind;
  if (kind === "directory")
    return factsOfPath(`${location}/.git`) === undefined ? "fs-directory" : "git-checkout";
  if (kind === "file") return isSqlite(location) ? "sqlite-database" : "fs-file";
  throw new UsageError(
    `${displayPath(location)} is a ${kind ?? "thing that is gone"}, which can't be a resource.`,
    {
      hint: "Choose a folder or a file.",
      code: "NO_SUCH_RESOURCE",
    },
  );
}

function isSqlite(location: string): boolean {
  try {
    return firstBytes(location, SQLITE_MAGIC.length).toString("latin1") === SQLITE_MAGIC;
  } catch (thrown) {
    throw new UsageError(
      `${displayPath(location)} can't be read: ${thrown instanceof Error ? thrown.message : String(thrown)}.`,
      { hint: "Check its permissions.", cause: thrown, code: "NO_ACCESS" },
    );
  }
}

function assertKind(resource: Resource, type: string): void {
  if (!resource.location.startsWith("/")) return;
  const kind = factsOfPath(resource.location)?.kind;
  const wantsFolder = type === "fs-directory" || type === "fs-mount" || type === "git-checkout";
  const wantsFile = type === "fs-file" || type === "sqlite-database";
  if (wantsFolder && kind !== "directory")
    throw new UsageError(`${displayPath(resource.location)} is a file, not a folder (${type}).`, {
      hint: "Use type=fs-file, or give the folder.",
      code: "WRONG_KIND",
    });
  if (wantsFile && kind !== "file")
    throw new UsageError(`${displayPath(resource.location)} is not a file (${type}).`, {
      hint: "Use type=fs-directory, or give a file.",
      code: "WRONG_KIND",
    });
}

function defaultName(location: string): string {
  if (location.startsWith("/")) return baseName(location);
  const [, host = "", database = ""] = /^[^:]+:\/\/(?:[^@/]*@)?([^/?#]*)(?:\/([^?#]*))?/.exec(location) ?? [];
  return database || host || location;
}

/** A sandbox that was made already can't take another one's place, or leave out more. */
function assertAsBefore({ resource, within }: ContainedResource, known: readonly PlanResource[]): void {
  const before = known.find((item) => item.resource.id === resource.id);
  const isSame =
    before?.within?.resourceId === within?.resourceId &&
    listOf(before?.resource.properties["without"]) === listOf(resource.properties["without"]);
  if (!isSame) throw overlapOf(resource);
}

function overlapOf({ name }: Resource): UsageError {
  return new UsageError(
    `${name} is in the plan already, with a sandbox of its own, and overlaps what is to be added.`,
    { hint: "Make a plan over both from the start.", code: "OVERLAP" },
  );
}

function listOf(paths: unknown): string {
  return JSON.stringify(paths ?? []);
}

/** Names go into messages, environment variables and tables. */
export function assertName(name: string): void {
  if (name.trim() === "")
    throw new UsageError("A name is empty.", { hint: "Give it at least one letter.", code: "BAD_NAME" });
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(name)) {
    throw new UsageError(`The name '${displayPath(name)}' holds control characters.`, {
      hint: "Use letters, digits, spaces and punctuation.",
      code: "BAD_NAME",
    });
  }
  if (name.length > 200)
    throw new UsageError("A name is longer than 200 characters.", {
      hint: "Choose a shorter one.",
      code: "BAD_NAME",
    });
}

export function assertDistinct(resources: readonly Resource[]): void {
  for (const [at, one] of resources.entries()) {
    for (const other of resources.slice(at + 1)) {
      if (one.name === other.name) {
        throw new UsageError(`Two resources are called '${one.name}'.`, {
          code: "NAME_TAKEN",
        });
      }
      if (one.location === other.location) {
        throw new UsageError(`${one.name} and ${other.name} are both ${displayPath(one.location)}.`, {
          hint: "Use one of them.",
          code: "OVERLAP",
        });
      }
    }
  }
}

/** The passwords from the URLs of resources. */
export function passwordsOf(resolved: readonly ResolvedResource[]): Secrets {
  return Object.fromEntries(
    resolved.flatMap(({ resource, secret }) => (secret === undefined ? [] : [[resource.id, secret]])),
  );
}
