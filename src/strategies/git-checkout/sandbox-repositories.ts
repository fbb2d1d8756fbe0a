import type { SandboxRef } from "../../core/sandbox.ts";
import type { PreparedCommit } from "../../core/strategy.ts";
import type { Landings } from "../../engine/landing/landings.ts";
import { scopeFrom } from "../../engine/sandbox/sandbox-reference.ts";
import type { Scope, Submodule } from "../../engine/workspace/scope.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { isThere } from "../../system/data/existence.ts";
import type { Git } from "../../system/process/git.ts";
import type { Checkout } from "../git-worktree/checkout/checkout.ts";
import { REPOSITORY } from "../git-worktree/layout.ts";
import { refsOf } from "../git-worktree/repository/repository-refs.ts";
import { SandboxParts } from "../git-worktree/sandbox-parts.ts";
import { CheckoutLandings } from "./checkout-landings.ts";
import {
  DOT_GIT,
  notAsFiles,
  ownerOf,
  pathIn,
  type RepositoryFolders,
  repositoryFolders,
  submoduleFolder,
} from "./layout.ts";
import type { PreparedParts } from "./prepared-parts.ts";
import { placeOfSubmodule } from "./submodules.ts";

/** A repository of a sandbox that lands by git's own rules: that of the checkout, or that of a submodule. */
export interface SandboxRepository {
  /** The name of its part of a prepared landing. */
  readonly part: string;
  readonly isSubmodule: boolean;
  readonly place: RepositoryFolders;
  /** Of a submodule, the workspace is a folder in that of the sandbox. */
  readonly parts: SandboxParts;
  readonly landings: CheckoutLandings;
}

interface Means {
  readonly git: Git;
  readonly exchange: (workspace: Folder) => Landings;
  readonly signal: AbortSignal;
  readonly now: () => Date;
}

/** The repositories of a sandbox, with their folders open. The caller keeps the workspace open. */
export class SandboxRepositories {
  readonly all: readonly SandboxRepository[];
  readonly #workspace: Folder;

  constructor(ref: SandboxRef, workspace: Folder, means: Means) {
    const scope = scopeFrom(ref);
    const { signal, now, git, exchange } = means;
    const refs = refsOf(ref.planId, ref.resourceId);
    const open = (part: string, place: RepositoryFolders, checkout: Checkout, folder: Folder) => {
      const parts = new SandboxParts(git, checkout, folder);
      const landings = new CheckoutLandings(parts, { exchange: exchange(folder), refs, signal, now });
      return { part, place, parts, landings, isSubmodule: part !== REPOSITORY };
    };
    const place = placeByGit(scope);
    const own = place === undefined ? [] : [open(REPOSITORY, place, checkoutOf(ref), workspace)];
    const inside = (place === undefined ? [] : (scope.submodules ?? [])).flatMap((submodule, at) => {
      const part = submoduleFolder(at);
      const folder = workspace.openBelowIfThere(part);
      if (folder === undefined) return [];
      return [open(part, placeOfSubmodule(submodule), checkoutOfSubmodule(scope, submodule), folder)];
    });
    this.all = [...own, ...inside];
    this.#workspace = workspace;
  }

  /** Those that a landing changes, each with its part. */
  of(prepared: PreparedParts): readonly (readonly [SandboxRepository, PreparedCommit])[] {
    return this.all.flatMap((repository) => {
      const part = prepared[repository.part];
      return part === undefined ? [] : [[repository, part] as const];
    });
  }

  [Symbol.dispose](): void {
    for (const { parts } of this.all) if (parts.workspace !== this.#workspace) parts.workspace.close();
  }
}

/** Where the repository of a sandbox is, if it lands by git's own rules and not file by file. */
export function placeByGit({ repository, without = [] }: Scope): RepositoryFolders | undefined {
  const place = repository === undefined ? undefined : repositoryFolders(repository);
  return place !== undefined && without.includes(pathIn(place, "HEAD")) ? place : undefined;
}

/** The scope with its repositories: they do not land as files, but they are saved and restored with them. */
export function withRepositories(scope: Scope): Scope {
  const place = placeByGit(scope);
  const { without = [], submodules = [] } = scope;
  if (place === undefined) return scope;
  const ofGit = new Set([place, ...submodules.map(placeOfSubmodule)].flatMap(notAsFiles));
  return { ...scope, without: without.filter((path) => !ofGit.has(path)) };
}

function checkoutOf(ref: SandboxRef): Checkout {
  const { root } = scopeFrom(ref);
  const owner = ownerOf(ref.metadata);
  const gitDir = owner?.gitDir ?? `${root}/${DOT_GIT}`;
  const commonDir = owner === undefined ? gitDir : root;
  return { root: owner?.worktree ?? root, gitDir, commonDir, objectFormat: "sha1" };
}

/** Git needs a folder to work in, also if the submodule was moved meanwhile. */
function checkoutOfSubmodule({ root }: Scope, { repository, worktree }: Submodule): Checkout {
  const gitDir = `${root}/${repository}`;
  return {
    root: isThere(worktree) ? worktree : gitDir,
    gitDir,
    commonDir: gitDir,
    objectFormat: "sha1",
  };
}
