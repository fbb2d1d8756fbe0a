import { UsageError } from "../../core/errors/errors.ts";
import { displayPath, isAtOrBelow } from "../../core/paths/byte-path.ts";
import type { Resource } from "../../core/resource/resource.ts";
import { outsideRepository } from "../../system/git/outside-repository.ts";
import { newId } from "../../system/state/new-id.ts";
import type { ResolvedResource } from "./containment.ts";

/** The strategy that shows a checkout and its repository at their own paths. */
const IN_PLACE = "overlay";

/**
 * A checkout whose repository is elsewhere, as with a linked worktree or a submodule: the repository becomes
 * a resource of the plan too, if the checkout is shown at its own path. Otherwise what is committed inside
 * would not be part of the plan.
 */
export async function withRepositories(
  resolved: readonly ResolvedResource[],
  strategyFor: (item: ResolvedResource) => Promise<string>,
  isCheckout: (resource: Resource) => boolean,
): Promise<readonly ResolvedResource[]> {
  const all: ResolvedResource[] = [];
  for (const item of resolved) {
    const outside = isCheckout(item.resource) ? outsideRepository(item.resource.location) : undefined;
    if (outside === undefined || !isAtOrBelow(outside.gitDir, outside.commonDir)) {
      all.push(item);
      continue;
    }
    const { resource } = item;
    const properties = { ...resource.properties, repositoryAt: outside.commonDir };
    const checkout = { ...item, resource: { ...resource, properties } };
    all.push(checkout);
    if ((await strategyFor(checkout)) !== IN_PLACE) continue;
    assertOnlyOne(outside.commonDir, checkout, [...resolved, ...all]);
    // A folder around it has it already.
    if (resolved.some((other) => isAtOrBelow(outside.commonDir, other.resource.location))) continue;
    all.push(repositoryOf(checkout.resource, outside));
  }
  return all;
}

function repositoryOf(
  { name, location }: Resource,
  { gitDir, commonDir }: { readonly gitDir: string; readonly commonDir: string },
): ResolvedResource {
  const resource: Resource = {
    id: newId(),
    name: `${name}.git`,
    type: "git-repository",
    location: commonDir,
    properties: { worktree: location, gitDir },
  };
  return { resource, wanted: { strategy: IN_PLACE, by: `the repository of ${name}` } };
}

/** The index and HEAD of one checkout land by git's own rules, so no other one may share its repository. */
function assertOnlyOne(
  commonDir: string,
  { resource }: ResolvedResource,
  all: readonly ResolvedResource[],
): void {
  const other = all.find(
    ({ resource: { type, location, properties } }) =>
      location !== resource.location &&
      (properties["repositoryAt"] === commonDir ||
        (type === "git-checkout" && isAtOrBelow(commonDir, location))),
  )?.resource;
  if (other === undefined) return;
  throw new UsageError(
    `${resource.name} and ${other.name} are checkouts of one repository, ${displayPath(commonDir)}.`,
    {
      hint: "Put each of them into a plan of its own, or give one of them strategy=git_worktree.",
      code: "OVERLAP",
    },
  );
}
