import fc from "fast-check";
import type { Loss } from "../../src/core/capabilities.ts";
import { isAtOrBelow, joinPath, parentPath, ROOT_PATH } from "../../src/core/paths/byte-path.ts";
import type { EntryKind, Time } from "../../src/system/calls/facts.ts";
import type { WorkTree } from "../../src/testing/tree/work-tree.ts";

/**
 * Random things that programs do to folders. An operation names what it acts on by a number, which becomes a
 * path of the tree as it is at that moment: so every sequence makes sense in every tree, does the same in
 * equal trees, and goes on making sense when it is shrunk.
 */
const IS_ROOT = process.geteuid?.() === 0;
const NAMES = [
  "a",
  "b",
  "c",
  "dir",
  "x y",
  "new\nline",
  "\udcff\udc80",
  "-rf",
  "ü",
  "*\t'\\",
  "n".repeat(255),
] as const;
const LONGEST_FOR_ALL = 251;
const MODES = [0o644, 0o600, 0o444, 0o755, 0o700, 0o555, 0o777, 0o1755, 0o640] as const;
const OWNERS = IS_ROOT ? [0, 1, 12_345] : [process.geteuid?.() ?? 0];
const TARGETS = ["a", "../b", "no/such/place", "/", "\udcfe", "."] as const;
const TIMES: readonly Time[] = [
  [0, 0],
  [1_000_000_000, 1],
  [1_700_000_000, 999_999_999],
  [-100_000, 5],
];
/** So far out that no file system fills the hole before it. */
const FAR = 4 * 1024 * 1024;

/** Not to be worked on. */
export const REPOSITORY = ".git";

const choice = fc.nat({ max: 1000 });
const CONTENTS = ["", "one\ntwo\n", "\u0000binary"] as const;
/** One of the contents above, or that many bytes. */
const size = fc.nat({ max: 200_000 });

export interface Operation {
  readonly do: OperationName;
  /** What it acts on, where something goes, which of the possible values it takes. */
  readonly on: number;
  readonly to: number;
  readonly value: number;
  readonly size: number;
}

interface Entry {
  readonly path: string;
  readonly kind: EntryKind;
}

/** A tree with what is in it at this moment. */
class LiveTree {
  readonly tree: WorkTree;
  readonly entries: readonly Entry[];
  /** What the strategy can't keep, and is therefore not tried. */
  readonly losses: readonly Loss[];

  constructor(tree: WorkTree, losses: readonly Loss[]) {
    this.tree = tree;
    this.losses = losses;
    this.entries = listBelow(tree, ROOT_PATH);
  }

  /** One of the entries of these kinds; the root is not among them. */
  any(number: number, ...kinds: readonly EntryKind[]): Entry | undefined {
    return pick(
      this.entries.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind)),
      number,
    );
  }

  /** One of the entries, the root included. */
  anyOrRoot(number: number): Entry {
    return pick([{ path: ROOT_PATH, kind: "directory" } as const, ...this.entries], number) as Entry;
  }

  folder(number: number): string {
    const folders = this.entries.filter(({ kind }) => kind === "directory").map(({ path }) => path);
    return pick([ROOT_PATH, ...folders], number) as string;
  }

  /** The same after something was done to the tree. */
  again(): LiveTree {
    return new LiveTree(this.tree, this.losses);
  }

  /** A path in some folder. */
  path({ to, value }: Operation): string {
    const names = this.losses.includes("long-names")
      ? NAMES.filter((name) => name.length <= LONGEST_FOR_ALL)
      : NAMES;
    return joinPath(this.folder(to), pick(names, value) as string);
  }

  /** A path in some folder at which nothing is; what was there is removed. */
  freePath(operation: Operation): string {
    const path = this.path(operation);
    if (this.tree.facts(path) !== undefined) this.tree.remove(path);
    return path;
  }
}

const ACTIONS = {
  create: (scene: LiveTree, operation: Operation) =>
    scene.tree.write(scene.freePath(operation), contentOf(operation.size)),
  overwrite: (scene: LiveTree, { on, size: length }: Operation) =>
    onFile(scene, on, (path) => scene.tree.write(path, contentOf(length))),
  replace: (scene: LiveTree, { on, size: length }: Operation) =>
    onFile(scene, on, (path) => scene.tree.replace(path, contentOf(length))),
  append: (scene: LiveTree, { on, size: length }: Operation) =>
    onFile(scene, on, (path) => scene.tree.append(path, contentOf(length))),
  truncate: (scene: LiveTree, { on, value }: Operation) =>
    onFile(scene, on, (path) => scene.tree.truncate(path, value * 7)),
  sparse: (scene: LiveTree, { on, value }: Operation) =>
    onFile(scene, on, (path) => scene.tree.writeAt(path, FAR + value * 1024, "far")),
  mkdir: (scene: LiveTree, operation: Operation) => scene.tree.makeFolder(scene.freePath(operation)),
  removeEmpty: (scene: LiveTree, { on }: Operation) => {
    const empty = scene.entries.filter(
      ({ path, kind }) => kind === "directory" && scene.tree.names(path).length === 0,
    );
    const found = pick(empty, on);
    if (found !== undefined) scene.tree.remove(found.path);
  },
  remove: (scene: LiveTree, { on }: Operation) => {
    const found = scene.any(on);
    if (found !== undefined) scene.tree.remove(found.path);
  },
  rename: (scene: LiveTree, operation: Operation) => {
    const found = scene.any(operation.on);
    if (found === undefined) return;
    const to = scene.path(operation);
    if (isAtOrBelow(to, found.path) || isAtOrBelow(found.path, to)) return;
    if (scene.tree.facts(to) !== undefined) scene.tree.remove(to);
    scene.tree.rename(found.path, to);
  },
  swap: (scene: LiveTree, { on, to }: Operation) => {
    const [first, second] = [scene.any(on), scene.any(to)];
    if (first === undefined || second === undefined) return;
    if (isAtOrBelow(first.path, second.path) || isAtOrBelow(second.path, first.path)) return;
    const aside = joinPath(parentPath(first.path), "aside");
    scene.tree.rename(first.path, aside);
    scene.tree.rename(second.path, first.path);
    scene.tree.rename(aside, second.path);
  },
  replaceFolder: (scene: LiveTree, { on, size: length }: Operation) => {
    const found = scene.any(on, "directory");
    if (found === undefined) return;
    scene.tree.remove(found.path);
    scene.tree.makeFolder(found.path);
    scene.tree.write(joinPath(found.path, "inside"), contentOf(length));
  },
  symlink: (scene: LiveTree, operation: Operation) =>
    scene.tree.makeLink(scene.freePath(operation), pick(TARGETS, operation.on) as string),
  hardLink: (scene: LiveTree, operation: Operation) => {
    const path = scene.freePath(operation);
    // Making room may have removed what was there a moment ago.
    const found = scene.again().any(operation.on, "file", "symlink", "fifo");
    if (found !== undefined) scene.tree.makeHardLink(path, found.path);
  },
  fifo: (scene: LiveTree, operation: Operation) => scene.tree.makeFifo(scene.freePath(operation)),
  retype: (scene: LiveTree, { on, value, size: length }: Operation) => {
    const found = scene.any(on);
    if (found === undefined) return;
    scene.tree.remove(found.path);
    if (found.kind !== "directory" && value % 2 === 0) scene.tree.makeFolder(found.path);
    else if (found.kind === "symlink") scene.tree.write(found.path, contentOf(length));
    else scene.tree.makeLink(found.path, pick(TARGETS, value) as string);
  },
  chmod: (scene: LiveTree, { on, value }: Operation) => {
    const { path, kind } = scene.anyOrRoot(on);
    const mode = pick(MODES, value) as number;
    if (kind !== "symlink") scene.tree.setMode(path, kind === "directory" && !IS_ROOT ? mode | 0o700 : mode);
  },
  chown: (scene: LiveTree, { on, value, to }: Operation) => {
    scene.tree.setOwner(scene.anyOrRoot(on).path, pick(OWNERS, value) as number, pick(OWNERS, to) as number);
  },
  utimes: (scene: LiveTree, { on, value }: Operation) =>
    scene.tree.setTime(scene.anyOrRoot(on).path, pick(TIMES, value) as Time),
  setXattr: (scene: LiveTree, { on, value }: Operation) => {
    const { path, kind } = scene.anyOrRoot(on);
    if (kind === "symlink" && scene.losses.includes("link-attributes")) return;
    if (!mayWrite(scene, path)) return;
    const space = IS_ROOT && kind !== "file" ? "trusted" : "user";
    scene.tree.setXattr(path, `${space}.k${value % 3}`, `v${value}`);
  },
  removeXattr: (scene: LiveTree, { on, value }: Operation) => {
    const { path } = scene.anyOrRoot(on);
    if (mayWrite(scene, path)) scene.tree.setXattr(path, `user.k${value % 3}`);
  },
};

export type OperationName = keyof typeof ACTIONS;

/** A sequence of operations of at most this length. */
export function operations(
  maxLength: number,
  without: readonly OperationName[] = [],
): fc.Arbitrary<readonly Operation[]> {
  const operation = operationOf(
    (Object.keys(ACTIONS) as OperationName[]).filter((name) => !without.includes(name)),
  );
  return fc.array(operation, { maxLength, size: "max" });
}

function operationOf(names: readonly OperationName[]): fc.Arbitrary<Operation> {
  const parts = { do: fc.constantFrom(...names), on: choice, to: choice, value: choice, size };
  return fc.record(parts, { noNullPrototype: true });
}

/** Operations that first of all make something to work on. */
export function buildingOperations(
  maxLength: number,
  without: readonly OperationName[] = [],
): fc.Arbitrary<readonly Operation[]> {
  const all: readonly OperationName[] = ["create", "create", "mkdir", "mkdir", "symlink", "hardLink", "fifo"];
  const making = operationOf(all.filter((name) => !without.includes(name)));
  return fc
    .tuple(fc.array(making, { minLength: 3, maxLength, size: "max" }), operations(maxLength, without))
    .map(([first, then]) => [...first, ...then]);
}

export function perform(tree: WorkTree, all: readonly Operation[], losses: readonly Loss[] = []): void {
  for (const operation of all) ACTIONS[operation.do](new LiveTree(tree, losses), operation);
}

function onFile(scene: LiveTree, number: number, action: (path: string) => void): void {
  const found = scene.any(number, "file");
  if (found !== undefined && mayWrite(scene, found.path)) action(found.path);
}

/** Only root writes to what is read-only. */
function mayWrite(scene: LiveTree, path: string): boolean {
  return IS_ROOT || ((scene.tree.facts(path)?.mode ?? 0) & 0o200) !== 0;
}

function contentOf(length: number): string {
  return CONTENTS[length] ?? "x".repeat(length);
}

function pick<T>(from: readonly T[], number: number): T | undefined {
  return from[number % Math.max(1, from.length)];
}

function listBelow(tree: WorkTree, folder: string): Entry[] {
  const names = tree.names(folder).filter((name) => name !== REPOSITORY);
  return names.flatMap((name) => {
    const path = joinPath(folder, name);
    const kind = tree.facts(path)?.kind ?? "file";
    return [{ path, kind }, ...(kind === "directory" ? listBelow(tree, path) : [])];
  });
}
