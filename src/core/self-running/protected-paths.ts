import { PathPatterns } from "../paths/path-patterns.ts";
import type { PolicyLine } from "../values/run-policy.ts";
import { PROTECTOR } from "./protector.ts";
import type { SelfRunningFile } from "./self-running-rules.ts";

/** Paths that a policy protects (`run.write.protect`). No config allows them: each landing needs a word. */
export interface Protection {
  /** The patterns (path-patterns.ts), and where they stand. */
  readonly lines: readonly PolicyLine[];
  /** The patterns of the paths that have the user's word for this landing. */
  readonly allow: readonly string[];
}

/** What a landing goes by, for all resources of a plan: each pattern is a `[RESOURCE:]PATTERN`. */
export interface LandingWords {
  /** What a config allows of the files that tools run by themselves. */
  readonly configured: readonly string[];
  /** What the user allows for this landing. */
  readonly allow: readonly string[];
  /** What a policy protects. */
  readonly protect: readonly PolicyLine[];
}

export const NO_WORDS: LandingWords = { configured: [], allow: [], protect: [] };

/** Finds the paths that a policy protects. */
export class ProtectedPaths {
  readonly #lines: readonly (PolicyLine & { readonly pattern: PathPatterns })[];
  readonly #allowed: PathPatterns;

  constructor({ lines, allow }: Protection) {
    this.#lines = lines.map((line) => ({ ...line, pattern: new PathPatterns([line.value]) }));
    this.#allowed = new PathPatterns(allow);
  }

  /** What to tell about this path, and whether it lacks the user's word; undefined if it is not protected. */
  at(path: string): { readonly file: SelfRunningFile; readonly needsWord: boolean } | undefined {
    const line = this.#lines.find(({ pattern }) => pattern.has(path));
    if (line === undefined) return undefined;
    const file = { path, tool: PROTECTOR, why: `protects it (${line.from})` };
    return { file, needsWord: !this.#allowed.has(path) };
  }
}
