import { posix } from "node:path";
import { UsageError } from "../core/errors/errors.ts";
import { displayPath, ROOT_PATH } from "../core/paths/byte-path.ts";
import type { Entry } from "../core/resource/entry.ts";
import type { CallOptions } from "../library/call-options.ts";
import type { Plan } from "../library/plan.ts";
import type { RunOptions, Workspace } from "../library/workspace.ts";
import { followedInside, readInside } from "../plans/entries/inner-links.ts";
import { systemProgram } from "../system/process/programs.ts";

/** How a framework works in a plan. */
export interface AdapterOptions {
  /** The resource in whose folder commands start and relative paths begin. Default: the first folder. */
  readonly resource?: string;
  /** The shell and its option before the text of a command. Default: `bash -c`, or `sh -c` without bash. */
  readonly shell?: readonly string[];
  /** What holds for every command. */
  readonly commands?: Pick<
    RunOptions,
    "checkpoint" | "environment" | "limits" | "maxOutputBytes" | "network" | "strict" | "unconfined"
  >;
}

/** Where a path of the machine is in a plan. */
export interface PathInPlan {
  readonly workspace: Workspace;
  /** In the workspace. */
  readonly path: string;
}

/** A resource of the plan that has a path: a folder, or a file. */
interface PathResource {
  readonly location: string;
  readonly workspace: Workspace;
}

/**
 * The resources of a plan by the paths of their originals, which is what commands inside see, and so what a
 * framework hands on.
 */
export class PlanPaths {
  /** Where commands start, and relative paths begin. */
  readonly folder: string;
  readonly #resources: readonly PathResource[];

  private constructor(folder: string, resources: readonly PathResource[]) {
    this.folder = folder;
    this.#resources = resources;
  }

  static async of(plan: Plan, resource?: string): Promise<PlanPaths> {
    const { resources } = await plan.show();
    const withPath = resources.filter(({ location }) => location.startsWith("/"));
    const first =
      resource === undefined
        ? withPath.find(({ type }) => FOLDER_TYPES.includes(type))
        : withPath.find(({ name }) => name === resource);
    if (first === undefined)
      throw new UsageError(
        resource === undefined
          ? `Plan ${plan.name} has no folder that commands could start in.`
          : `Plan ${plan.name} has no folder '${resource}'.`,
        { hint: "Create the plan over a folder.", code: "NO_SUCH_RESOURCE" },
      );
    return new PlanPaths(
      first.location,
      withPath.map(({ name, location }) => ({ location, workspace: plan.workspace(name) })),
    );
  }

  /** The paths of the resources. */
  get locations(): readonly string[] {
    return this.#resources.map(({ location }) => location);
  }

  /** The path as commands know it. */
  absolute(path: string): string {
    return posix.resolve(this.folder, path);
  }

  /** The resource that a path is in; the innermost, where one is inside of another. */
  place(path: string): PathInPlan {
    const absolute = this.absolute(path);
    const [found] = this.#resources
      .filter(({ location }) => `${absolute}/`.startsWith(`${location}/`))
      .toSorted((one, other) => other.location.length - one.location.length);
    if (found === undefined)
      throw new UsageError(
        `${displayPath(absolute)} is outside of the plan, which holds ${this.locations.map(displayPath).join(", ")}.`,
        { hint: "Use a command for paths outside of it.", code: "BAD_PATH" },
      );
    return { workspace: found.workspace, path: posix.relative(found.location, absolute) || ROOT_PATH };
  }

  /** The same with links followed that stay inside the resource. */
  async followed(path: string, options: CallOptions): Promise<PathInPlan> {
    const { workspace, path: inside } = this.place(path);
    return { workspace, path: await followedInside(inside, (at) => workspace.stat(at, options)) };
  }

  /** The entry at a path, with links followed; undefined if there is none. */
  async stat(path: string, options: CallOptions = {}): Promise<Entry | undefined> {
    const place = await this.followed(path, options);
    return await place.workspace.stat(place.path, options);
  }

  /** The content of a file, with links followed; undefined if there is none. */
  async read(path: string, options: CallOptions = {}): Promise<Uint8Array | undefined> {
    const { workspace, path: inside } = this.place(path);
    return await unlessMissing(() =>
      readInside(inside, {
        read: (at) => workspace.readFile(at, options),
        stat: (at) => workspace.stat(at, options),
      }),
    );
  }

  /** What is in a folder; undefined if there is nothing at the path. */
  async list(path: string, options: CallOptions = {}): Promise<readonly Entry[] | undefined> {
    const place = await this.followed(path, options);
    const entry = await place.workspace.stat(place.path, options);
    if (entry === undefined) return undefined;
    if (entry.kind !== "directory") throw notAFolder(path);
    return await Array.fromAsync(this.walk(place, options));
  }

  /** The entries in a folder of a workspace, page by page. */
  async *walk(
    { workspace, path }: PathInPlan,
    options: CallOptions & { readonly recursive?: boolean },
  ): AsyncGenerator<Entry> {
    for (let cursor: string | undefined; ; ) {
      const page = await workspace.list(path, { ...options, ...(cursor !== undefined && { cursor }) });
      yield* page.entries;
      cursor = page.next;
      if (cursor === undefined) return;
    }
  }
}

const FOLDER_TYPES: readonly string[] = ["fs-directory", "fs-mount", "git-checkout"];

/** The words of a command that is one text for a shell. */
export function shellCommand({ shell }: AdapterOptions, text: string): readonly string[] {
  const bash = shell === undefined ? systemProgram("bash") : undefined;
  return [...(shell ?? [bash ?? "sh", "-c"]), text];
}

/** What the action returns; undefined if there is no such file. */
async function unlessMissing<T>(action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action();
  } catch (thrown) {
    if (thrown instanceof UsageError && thrown.code === "NO_SUCH_FILE") return undefined;
    throw thrown;
  }
}

function notAFolder(path: string): UsageError {
  return new UsageError(`${displayPath(path)} is no folder.`, { code: "BAD_PATH" });
}
