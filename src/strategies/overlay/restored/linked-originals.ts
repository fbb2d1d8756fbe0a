import { identityKey } from "../../../system/calls/facts.ts";
import type { NamedFacts } from "./named-facts.ts";
import { assertAlone } from "./returnable.ts";

/** `keeps`: it is as it landed. `stays`: the upper layer has a copy of it, which may have other names. */
type How = "keeps" | "stays" | "comes";

/** A name of a file of the original, and what the upper layer has there. */
interface LinkedName {
  readonly path: string;
  readonly how: How;
  readonly above: NamedFacts | undefined;
  readonly below: NamedFacts;
}

/**
 * Files of the original with several names that a checkpoint shows, although the mount hides them. Their
 * names stay together: if one has to come, all come anew, as copies that are linked. That needs all of them:
 * a copy can't be linked with a name that the lower layer shows.
 */
export class LinkedOriginals {
  readonly #names = new Map<string, LinkedName[]>();

  add(
    path: string,
    how: How,
    { above, below }: { readonly above: NamedFacts | undefined; readonly below: NamedFacts | undefined },
  ): void {
    if (below === undefined || below.facts.kind === "directory" || below.facts.nlink < 2) return;
    const key = identityKey(below.facts);
    const names = this.#names.get(key) ?? [];
    this.#names.set(key, names);
    names.push({ path, how, above, below });
  }

  /** The names that have to come. */
  toBring(): readonly LinkedName[] {
    return [...this.#names.values()].flatMap((names) => {
      if (areTogether(names)) return [];
      for (const { path, below } of names) if (names.length < below.facts.nlink) assertAlone(path, below);
      return names;
    });
  }
}

/** Whether all names stay, and are the names of one file of the upper layer. */
function areTogether(names: readonly LinkedName[]): boolean {
  if (names.every(({ how }) => how === "keeps")) return true;
  const files = new Set(names.map(({ above }) => above && identityKey(above.facts)));
  return (
    files.size === 1 && names.every(({ how, below }) => how !== "comes" && below.facts.nlink === names.length)
  );
}
