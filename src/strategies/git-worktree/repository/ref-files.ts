import { baseName, joinPath, parentPath, pathFromBytes } from "../../../core/paths/byte-path.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { readWhole } from "../../../system/data/whole-file.ts";

/**
 * Reads refs from the files of a repository. Programs write the repository of a sandbox, so git is not run on
 * it: git would obey the settings that it finds there. A ref is a file, or a line of `packed-refs`. Its value
 * is the name of an object, or `ref: ` and the name of another ref.
 */
const OBJECT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
const SYMBOLIC = /^ref: (refs\/[^\n]+)$/;
const LARGEST = 64 * 1024 * 1024;
const LONGEST_REF = 4096;
const DEEPEST = 5;

/** The file with the refs that have none of their own. */
export const PACKED_REFS = "packed-refs";

/** The value of a ref, or of HEAD; undefined if there is none, or if its file is broken. */
export function readRef(repository: Folder, ref: string): string | undefined {
  return looseRef(repository, ref) ?? packedRefs(repository).get(ref);
}

/** The object that a ref leads to. */
export function resolveRef(repository: Folder, ref: string, depth = 0): string | undefined {
  const value = depth > DEEPEST ? undefined : readRef(repository, ref);
  const to = value === undefined ? undefined : targetOf(value);
  return to === undefined ? value : isRefName(to) ? resolveRef(repository, to, depth + 1) : undefined;
}

/** All refs with their values. */
export function readRefs(repository: Folder): Map<string, string> {
  const refs = new Map(packedRefs(repository));
  for (const ref of looseNames(repository, "refs")) {
    const value = looseRef(repository, ref);
    if (value !== undefined) refs.set(ref, value);
  }
  return refs;
}

/** The ref that a symbolic ref leads to. */
export function targetOf(value: string): string | undefined {
  return SYMBOLIC.exec(value)?.[1];
}

/** Whether git allows this name for a ref. It becomes a path in a repository. */
export function isRefName(ref: string): boolean {
  const isName = (name: string) => name !== "" && !name.startsWith(".") && !/\.(?:lock)?$/.test(name);
  return (
    ref.startsWith("refs/") && !/[\0-\x20\x7f~^:?*[\\]|\.\.|@\{/.test(ref) && ref.split("/").every(isName)
  );
}

/** The content of `packed-refs` without these refs; undefined if it has none of them. */
export function packedWithout(repository: Folder, refs: ReadonlySet<string>): string | undefined {
  const lines = textOf(repository, PACKED_REFS, LARGEST)?.split(/(?<=\n)/) ?? [];
  let isGone = false;
  const kept = lines.filter((line) => {
    // A line with "^" belongs to the one before it.
    if (!line.startsWith("^")) isGone = refs.has(line.trimEnd().slice(line.indexOf(" ") + 1));
    return !isGone;
  });
  return kept.length === lines.length ? undefined : kept.join("");
}

function looseRef(repository: Folder, ref: string): string | undefined {
  using folder = repository.openBelowIfThere(parentPath(ref));
  const text = folder === undefined ? undefined : textOf(folder, baseName(ref), LONGEST_REF)?.trimEnd();
  return text !== undefined && (OBJECT.test(text) || SYMBOLIC.test(text)) ? text : undefined;
}

function packedRefs(repository: Folder): ReadonlyMap<string, string> {
  const refs = new Map<string, string>();
  for (const line of textOf(repository, PACKED_REFS, LARGEST)?.split("\n") ?? []) {
    const end = line.indexOf(" ");
    const value = line.slice(0, end);
    if (OBJECT.test(value)) refs.set(line.slice(end + 1), value);
  }
  return refs;
}

/** No recursion, because a program can make folders deeper than any stack. */
function looseNames(repository: Folder, root: string): string[] {
  const [names, folders]: [string[], string[]] = [[], [root]];
  for (let path = folders.pop(); path !== undefined; path = folders.pop()) {
    using folder = repository.openBelowIfThere(path);
    for (const name of folder?.names() ?? []) {
      const kind = name.startsWith(".") || name.endsWith(".lock") ? undefined : folder?.facts(name)?.kind;
      if (kind === "directory") folders.push(joinPath(path, name));
      else if (kind === "file") names.push(joinPath(path, name));
    }
  }
  return names;
}

function textOf(folder: Folder, name: string, most: number): string | undefined {
  const facts = folder.facts(name);
  if (facts?.kind !== "file" || facts.size > most) return undefined;
  const bytes = readWhole(folder, name);
  return bytes === undefined ? undefined : pathFromBytes(bytes);
}
