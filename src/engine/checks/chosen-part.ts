import { UsageError } from "../../core/errors/errors.ts";
import { nearest, parentPath } from "../../core/paths/byte-path.ts";
import { PathPatterns } from "../../core/paths/path-patterns.ts";
import { assertHasWord, type LandingPath } from "../../core/self-running/self-running.ts";
import type { Transaction } from "../../core/strategy.ts";
import type { ChangeSet, TreeChange, TreeEntry } from "../changes/change-set.ts";
import { assertKeepsExcluded } from "../changes/exclusions.ts";
import { fitting } from "../changes/rows.ts";
import { type Scope, toEnginePath, toResourcePath } from "../workspace/scope.ts";

/**
 * The part of a change set that lands alone. Only whole entries can: the contents of a new, deleted or
 * replaced folder land with the folder, and the names of one file land together. A smaller choice is refused,
 * because more would land than the user asked for, or something else.
 */
function chosenPart(found: ChangeSet, choice: PartChoice, scope: Scope): ChangeSet {
  const { only, exactly } = choice;
  if (only === undefined) return found;
  const paths = exactly === undefined ? new PathPatterns(only) : new Set(exactly.paths);
  const isMeant = ({ path }: { readonly path: string }) => paths.has(toResourcePath(scope, path));
  const inside = changesByEntry(found);
  const entries = [...found.entries].filter((entry) =>
    isChosen(entry, inside.get(entry.path) ?? [], { isMeant, isExact: exactly !== undefined }),
  );
  assertLandAlone(chosenContents(choice, scope), new Set(entries.map(({ path }) => path)));
  const changes = entries.flatMap(({ path }) => inside.get(path) ?? []);
  assertWholeFiles(found, new Set(changes.map(({ path }) => path)));
  return { entries, changes, folderTimes: fitting(found.folderTimes, isMeant), anchors: found.anchors };
}

/** How the part is chosen. */
type PartChoice = Pick<Transaction, "only" | "exactly">;

/** What lands of a file that does not land as the sandbox has it: some hunks (hunks.ts), or other bytes. */
export type ChosenContent = { readonly hunks: ReadonlySet<string> } | { readonly bytes: Buffer };

/** The files of a part that do not land as the sandbox has them. */
export function chosenContents({ exactly }: PartChoice, scope: Scope): ReadonlyMap<string, ChosenContent> {
  const chosen = new Map<string, ChosenContent>();
  for (const [path, ids] of Object.entries(exactly?.hunks ?? {}))
    chosen.set(toEnginePath(scope, path), { hunks: new Set(ids) });
  for (const [path, content] of Object.entries(exactly?.edited ?? {}))
    chosen.set(toEnginePath(scope, path), { bytes: Buffer.from(content, "base64") });
  return chosen;
}

/** Refuses another content for a file that lands with its folder: the folder lands as the sandbox has it. */
function assertLandAlone(contents: ReadonlyMap<string, ChosenContent>, entries: ReadonlySet<string>): void {
  for (const path of contents.keys())
    if (!entries.has(path))
      throw new UsageError(`${path} can only land as the plan has it, with the folder that it is in.`, {
        hint: "That folder is new, deleted or replaced, and lands as one. Let it land as it is, or not at all.",
        code: "PART_OF_FOLDER",
      });
}

/** Every change belongs to the entry that moves it. */
function changesByEntry({ changes, entries }: ChangeSet): ReadonlyMap<string, readonly TreeChange[]> {
  const found = new Map<string, TreeChange[]>(Iterator.from(entries).map(({ path }) => [path, []]));
  const movesAll = new Set(
    Iterator.from(entries)
      .filter(({ operation }) => operation !== "metadata")
      .map(({ path }) => path),
  );
  for (const change of changes) {
    const moved = found.has(change.path) ? change.path : nearest(movesAll, change.path);
    if (moved !== undefined) found.get(moved)?.push(change);
  }
  return found;
}

function isChosen(
  entry: TreeEntry,
  inside: readonly TreeChange[],
  { isMeant, isExact }: { isMeant(change: { readonly path: string }): boolean; isExact: boolean },
): boolean {
  // A path takes along what is below it, unless exactly these paths are chosen.
  if (isMeant(entry) && !isExact) return true;
  // A new folder lands with its contents.
  const holding = new Set(inside.map(({ path }) => parentPath(path)));
  const comesAlong = ({ path, operation, after }: TreeChange) =>
    operation !== "modified" && after?.kind === "directory" && holding.has(path);
  const below = inside.filter((change) => !comesAlong(change));
  const [meant, others] = [below.filter(isMeant), below.filter((change) => !isMeant(change))];
  if (others.length === 0) return meant.length > 0;
  const [first = isMeant(entry) ? entry : undefined] = meant;
  if (first === undefined) return false;
  throw new UsageError(
    `${first.path} can't land without the rest of the folder ${entry.path}, which lands as one.`,
    {
      hint: `Choose ${entry.path}: it is new, deleted or replaced as a whole, with ${inside.length} changes.`,
      code: "PART_OF_FOLDER",
    },
  );
}

/**
 * Refuses some names of a file without the others: landed one after the other, they would become separate
 * files. Names of a file that stays unchanged in the original are allowed.
 */
function assertWholeFiles({ changes, anchors }: ChangeSet, chosen: ReadonlySet<string>): void {
  const linked = [...changes].filter(
    ({ after }) => after !== undefined && after.kind !== "directory" && after.nlink > 1,
  );
  const groups = Map.groupBy(linked, ({ after }) => after?.ino);
  const changed = new Set(Iterator.from(changes).map(({ path }) => path));
  const staysAsIs = (path: string | undefined) => path !== undefined && !changed.has(path);
  for (const [ino, names] of groups) {
    if (ino !== undefined && staysAsIs(anchors.get(ino))) continue;
    const left = names.find(({ path }) => !chosen.has(path));
    const taken = names.find(({ path }) => chosen.has(path));
    if (left === undefined || taken === undefined) continue;
    throw new UsageError(`${taken.path} can't land without ${left.path}: they are names of one file.`, {
      hint: "Choose all names of it.",
      code: "PART_OF_FILE",
    });
  }
}

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
    transaction,
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
