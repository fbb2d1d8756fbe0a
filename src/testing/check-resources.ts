import { basename, dirname } from "node:path";
import { withDefaults } from "../core/capabilities.ts";
import { UsageError } from "../core/errors/errors.ts";
import type { Resource } from "../core/resource/resource.ts";
import type { SandboxStrategy } from "../core/strategy.ts";
import { removeTree } from "../engine/tree/remove-tree.ts";
import { Folder } from "../system/calls/folder.ts";
import type { Failpoint } from "../system/failpoints.ts";
import { Git } from "../system/process/git.ts";
import { makeScratchFolder } from "../system/state/scratch-folder.ts";
import type { FolderFixture } from "./strategy-factory.ts";

/** The failpoint of the suite's own steps; it is not in Drydock's list. */
const POINT = "conformance.resource" as Failpoint;
const AUTHOR = ["-c", "user.name=Conformance", "-c", "user.email=conformance@localhost"];

export interface ResourceSurroundings {
  /** The folder in which resources are made, on its file system. Default: the system's temporary folder. */
  readonly parent?: string;
  readonly environment: { readonly [name: string]: string | undefined };
}

/** Returns a function that makes resources of a type that the suite knows and the strategy can isolate. */
export function resourceMaker(
  strategy: SandboxStrategy,
  place: ResourceSurroundings,
): () => Promise<FolderFixture> {
  const { resourceTypes } = withDefaults(strategy.capabilities);
  if (resourceTypes === "all" || resourceTypes.includes("fs-directory"))
    return async () => madeFolder(makeScratchFolder("drydock-resource", place.parent), "fs-directory");
  if (resourceTypes.includes("git-checkout")) return () => makeCheckout(place);
  throw new UsageError(
    `The conformance suite does not know how to make a resource of type ${resourceTypes.join(" or ")}.`,
    {
      hint: "Give MODULE:FUNCTION as the resource, a function that makes one; see docs/writing-a-strategy.md.",
      code: "NO_SUCH_RESOURCE",
    },
  );
}

/** Makes a repository in which everything is committed after each change. */
async function makeCheckout({ parent, environment }: ResourceSurroundings): Promise<FolderFixture> {
  const path = makeScratchFolder("drydock-resource", parent);
  const git = new Git(environment);
  await git.discover(path, ["init", "--quiet", "--initial-branch=main"]);
  return {
    ...madeFolder(path, "git-checkout"),
    without: [".git"],
    settle: async () => {
      await git.discover(path, ["add", "--all"]);
      await git.discover(path, [...AUTHOR, "commit", "--quiet", "--allow-empty", "--message", "settled"]);
    },
  };
}

function madeFolder(path: string, type: Resource["type"]): FolderFixture {
  return {
    resource: { id: "resource", name: "resource", type, location: path, properties: {} },
    originalPath: path,
    dispose: () => {
      using parent = Folder.open(dirname(path));
      removeTree(POINT, parent, basename(path));
    },
  };
}
