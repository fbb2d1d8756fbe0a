import { isAtOrBelow } from "../../core/paths/byte-path.ts";
import type { PolicyLine, RulePair } from "../../core/values/run-policy.ts";
import { factsOfPath, realPathOf } from "../../system/data/locations.ts";

/** A line of the policy about a path, with the real path that it means. */
export interface PathLine extends PolicyLine {
  readonly path: string;
}

/** Paths of one owner's rules. */
interface PathRules {
  readonly deny: readonly PathLine[];
  readonly allow: readonly PathLine[];
}

/** Denied paths, outermost first, and the files and folders in them that can be read. */
export interface ReadablePaths {
  readonly denied: readonly PathLine[];
  readonly readable: readonly PathLine[];
}

/**
 * What several sets of rules leave readable: a path that one of them denies is denied. Within a set the
 * longest path counts.
 */
export function readablePaths(sets: readonly RulePair[], home: string | undefined): ReadablePaths {
  const rules = sets.map(({ deny, allow = [] }) => ({
    deny: pathLines(deny, home),
    allow: pathLines(allow, home),
  }));
  const isDenied = (path: string) => rules.some((set) => verdict(set, path) === "denied");
  const readable = distinct(rules.flatMap(({ allow }) => allow)).filter(
    ({ path }) =>
      !isDenied(path) &&
      rules.some(({ deny }) => deny.some((line) => isInside(path, line.path))) &&
      ["file", "directory"].includes(factsOfPath(path)?.kind ?? ""),
  );
  const all = distinct(rules.flatMap(({ deny }) => deny));
  const denied = all.filter(
    ({ path }) =>
      !all.some(
        (outer) =>
          isInside(path, outer.path) &&
          !readable.some((line) => isInside(line.path, outer.path) && isAtOrBelow(path, line.path)),
      ),
  );
  return { denied: denied.toSorted((a, b) => a.path.length - b.path.length), readable };
}

/** The paths that these lines mean, of those that are there. A link counts as what it leads to. */
function pathLines(lines: readonly PolicyLine[], home: string | undefined): readonly PathLine[] {
  return lines.flatMap((line) => {
    const written = expanded(line.value, home);
    const path = written === undefined ? undefined : realPathOf(written);
    return path === undefined ? [] : [{ ...line, path }];
  });
}

/** A path with the home in place of `~`; undefined if there is no home. */
export function expanded(path: string, home: string | undefined): string | undefined {
  if (!path.startsWith("~")) return path;
  return home === undefined ? undefined : `${home}${path.slice(1)}`;
}

function verdict({ deny, allow }: PathRules, path: string): "denied" | "free" {
  const length = (lines: readonly PathLine[]) =>
    Math.max(-1, ...lines.filter((line) => isAtOrBelow(path, line.path)).map((line) => line.path.length));
  const denying = length(deny);
  return denying >= 0 && denying >= length(allow) ? "denied" : "free";
}

function isInside(path: string, folder: string): boolean {
  return path !== folder && isAtOrBelow(path, folder);
}

function distinct(lines: readonly PathLine[]): readonly PathLine[] {
  return [...new Map(lines.toReversed().map((line) => [line.path, line])).values()].toReversed();
}
