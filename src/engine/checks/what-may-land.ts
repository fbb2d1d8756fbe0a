import { assertHasWord, type LandingPath } from "../../core/self-running/self-running.ts";
import type { Transaction } from "../../core/strategy.ts";
import type { ChangeSet, TreeChange } from "../changes/change-set.ts";
import { assertKeepsExcluded } from "../changes/exclusions.ts";
import { type Scope, toResourcePath } from "../workspace/scope.ts";
import { chosenPart } from "./chosen-part.ts";

/**
 * The changes of a frozen sandbox that are to land. Refuses a part of an entry that lands as one, the folder
 * of another resource, and files that tools run by themselves unless the user allows them.
 */
export function whatMayLand(found: ChangeSet, transaction: Transaction, scope: Scope): ChangeSet {
  const chosen = chosenPart(found, transaction, scope);
  assertKeepsExcluded(chosen, scope);
  assertHasWord(
    locationOf(scope),
    Iterator.from(chosen.changes).map((change) => landingPath(change, scope)),
    transaction.allow,
  );
  return chosen;
}

/** A repository may have any name, but tools know it as `.git`. */
function locationOf({ root, only, repository }: Scope): string {
  const isRepository = repository !== undefined && repository !== ".git";
  const name = isRepository ? ".git" : only;
  return name === undefined ? root : `${root === "/" ? "" : root}/${name}`;
}

function landingPath({ path, operation, before, after, parts }: TreeChange, scope: Scope): LandingPath {
  return {
    path: toResourcePath(scope, path),
    operation,
    kind: (after ?? before)?.kind ?? "file",
    onlyTime: parts?.every((part) => part === "mtime") === true,
  };
}
