import { messageOf, UnsupportedError } from "../../core/errors/errors.ts";
import type { Resource } from "../../core/resource/resource.ts";
import { outsideRepository } from "../../system/git/outside-repository.ts";
import type { Git } from "../../system/process/git.ts";
import { findCheckout } from "../git-worktree/checkout/checkout.ts";
import { DOT_GIT, ownerOf, REPOSITORY_TYPE } from "./layout.ts";

/** Why a checkout has no sandbox at its own path. */
export function whyNotHere({ type, location, properties }: Resource): string | undefined {
  if (type === REPOSITORY_TYPE)
    return ownerOf(properties) === undefined ? "no checkout of the plan belongs to it" : undefined;
  const isElsewhere = outsideRepository(location) !== undefined;
  if (isElsewhere && properties["repositoryAt"] === undefined)
    return "its repository is elsewhere and not part of the plan";
  if (properties["from"] === "head") return "it shows the files as they are, not as committed";
  return undefined;
}

/** Why git's own rules can't be kept for a checkout. */
export async function whyAsFiles(git: Git, { location, properties }: Resource): Promise<string | undefined> {
  const owner = ownerOf(properties);
  try {
    const { checkout } = await findCheckout(git, owner?.worktree ?? location, { mayBeSparse: true });
    const isHere = checkout.gitDir === (owner?.gitDir ?? `${location}/${DOT_GIT}`);
    return isHere ? undefined : "its repository is elsewhere";
  } catch (thrown) {
    if (thrown instanceof UnsupportedError) return messageOf(thrown).replace(/\.$/, "");
    throw thrown;
  }
}

export function asFiles(why: string): string {
  return `its repository lands file by file: ${why}`;
}
