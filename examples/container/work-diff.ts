import type { Change } from "drydock-sandbox/strategy";
import type { Engine } from "./engine.ts";
import { type FirstEntry, namesIn } from "./tar.ts";

/** Requests that wait for the engine at the same time. */
const AT_ONCE = 4;

/** The container with the work, compared with one that has the files of the base. */
export class WorkDiff {
  readonly #engine: Engine;
  readonly #work: string;
  readonly #base: string;

  constructor(engine: Engine, work: string, base: string) {
    this.#engine = engine;
    this.#work = work;
    this.#base = base;
  }

  /** Every path at which the two may differ. The engine knows that; `since` are those of before. */
  async candidates(since: readonly string[]): Promise<readonly string[]> {
    const paths = new Set(since);
    for (const { path, isRemoved } of await this.#engine.changesOf(this.#work)) {
      paths.add(path);
      // The engine says that a folder is gone, not what was in it.
      if (isRemoved) for (const name of await this.#below(path)) paths.add(`${path}/${name}`);
    }
    paths.delete("");
    return [...paths].sort();
  }

  async changes(candidates: readonly string[]): Promise<readonly Change[]> {
    const changes: Change[] = [];
    for (let at = 0; at < candidates.length; at += AT_ONCE) {
      const some = candidates.slice(at, at + AT_ONCE);
      const compared = await Promise.all(some.map((path) => this.#compare(path)));
      changes.push(...compared.filter((change) => change !== undefined));
    }
    return changes;
  }

  async #compare(path: string): Promise<Change | undefined> {
    const [before, after] = await Promise.all([
      this.#engine.entry(this.#base, path),
      this.#engine.entry(this.#work, path),
    ]);
    const shown = after ?? before;
    if (shown === undefined || before?.digest === after?.digest) return undefined;
    const operation = before === undefined ? "added" : after === undefined ? "deleted" : "modified";
    return {
      path,
      operation,
      kind: shown.kind,
      ...(before !== undefined && { before: factsOf(before) }),
      ...(after !== undefined && { after: factsOf(after) }),
    };
  }

  async #below(path: string): Promise<readonly string[]> {
    const archive = await this.#engine.archive(this.#base, path);
    return archive === undefined ? [] : await namesIn(archive);
  }
}

function factsOf({ kind, size, mode }: FirstEntry) {
  return { ...(kind === "file" && { size }), mode };
}
