import { baseName, isAtOrBelow, parentPath } from "../../src/core/paths/byte-path.ts";
import { RenameIndex } from "../../src/plans/renames/rename-index.ts";
import type { Change, Diff, Rename, Vote } from "../api/types.ts";

/** A change as the list has it. */
export interface Listed {
  readonly change: Change;
  /** Names it on the page, also when the changes are read again. */
  readonly key: string;
  /** The entry was at another path. */
  readonly rename?: Rename;
  /** All changes that this one stands for, as they are now: a rename has two, that of a folder more. */
  readonly changes: readonly Change[];
}

/** Changes under one heading, which can be folded. */
export interface Group {
  readonly key: string;
  readonly title: string;
  /** The resource and the folder, if the group is one. */
  readonly resource?: string;
  readonly folder?: string;
  readonly items: readonly Listed[];
  /** Whether its items are shown only when the user wants them. */
  readonly isFolded: boolean;
}

export type ListRow =
  | { readonly row: "group"; readonly key: string; readonly group: Group; readonly isOpen: boolean }
  | { readonly row: "change"; readonly key: string; readonly item: Listed };

const GENERATED = [
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock)$/,
  /(?:^|\/)(?:Cargo\.lock|poetry\.lock|uv\.lock|Pipfile\.lock|Gemfile\.lock|composer\.lock|go\.sum|flake\.lock)$/,
  /(?:^|\/)(?:node_modules|vendor|dist|__pycache__|\.next|target\/(?:debug|release))\//,
  /\.(?:min\.(?:js|css)|map|snap|pb\.go|pyc)$|_pb2\.py$/,
];

/** Whether a tool writes such a file, and nobody reads it. */
function isGenerated(path: string): boolean {
  return GENERATED.some((pattern) => pattern.test(path));
}

function keyOf({ resource, path }: Pick<Change, "resource" | "path">): string {
  return `${resource}\0${path}`;
}

/** A trigger may have the name of its table. */
function itemKey(change: Change): string {
  return change.kind === "object" ? `${keyOf(change)}\0` : keyOf(change);
}

/** The changes with each rename as one. */
export function listed(changes: readonly Change[], renames: readonly Rename[]): readonly Listed[] {
  const index = new RenameIndex(renames);
  const items: Listed[] = [];
  const renamed = new Map<Rename, Change[]>();
  for (const change of changes) {
    const rename = index.of(change);
    const key = itemKey(change);
    if (rename === undefined) items.push({ change, key, changes: [change] });
    else {
      const all = renamed.get(rename) ?? [];
      renamed.set(rename, all);
      all.push(change);
      if (change.operation === "added" && change.path === rename.to)
        items.push({ change, key, rename, changes: all });
    }
  }
  return items;
}

/** What the reviewer said of an item; of several changes the word that all have. */
export function voteOn(items: readonly Listed[]): Vote | "partly" | undefined {
  const votes = new Set(items.flatMap(({ changes }) => changes.map(wordOf)));
  return votes.size > 1 ? "partly" : [...votes][0];
}

/** The word on one change; "partly" if some of its hunks have another. */
export function wordOf({ vote, hunks = {} }: Change): Vote | "partly" | undefined {
  return Object.values(hunks).some((each) => each !== vote) ? "partly" : vote;
}

export function isSeen({ changes }: Listed): boolean {
  return changes.every(({ seen }) => seen);
}

/** Which changes the list shows. */
export const CHOICES = {
  all: () => true,
  unseen: (item: Listed) => !isSeen(item),
  undecided: (item: Listed) => voteOn([item]) === undefined,
  approved: (item: Listed) => voteOn([item]) === "approved",
  rejected: (item: Listed) => voteOn([item]) === "rejected",
} as const;
export type Choice = keyof typeof CHOICES;

/** The groups of the list: first what needs attention, then folder by folder, last what tools wrote. */
export function groupsOf(
  items: readonly Listed[],
  { selfRunning }: Pick<Diff, "selfRunning">,
): readonly Group[] {
  const word = new Set(selfRunning.filter(({ needsWord }) => needsWord).map(keyOf));
  const [urgent, generated]: [Listed[], Listed[]] = [[], []];
  const folders = new Map<
    string,
    { readonly resource: string; readonly folder: string; readonly items: Listed[] }
  >();
  for (const item of items) {
    const { resource, path, warnings = [] } = item.change;
    if (warnings.length > 0 || word.has(keyOf(item.change))) urgent.push(item);
    else if (isGenerated(path)) generated.push(item);
    else {
      const folder = parentPath(path);
      const key = keyOf({ resource, path: folder });
      const found = folders.get(key) ?? { resource, folder, items: [] };
      folders.set(key, found);
      found.items.push(item);
    }
  }
  const fixed = (
    key: string,
    title: string,
    found: readonly Listed[],
    isFolded: boolean,
  ): readonly Group[] => (found.length === 0 ? [] : [{ key, title, items: found, isFolded }]);
  return [
    ...fixed("urgent", "Look here first", urgent, false),
    ...[...folders].map(([key, { resource, folder, items: found }]) => ({
      ...{ key: `in ${key}`, resource, folder, items: found, isFolded: false },
      title: folder === "." ? resource : `${resource}/${folder}`,
    })),
    ...fixed("generated", "Lock files and generated code", generated, true),
  ];
}

/** What a word can be said on beyond a folder: everything below it, and its resource. */
export function widerThan(
  { resource, folder, items }: Group,
  all: readonly Listed[],
): readonly { readonly what: string; readonly items: readonly Listed[] }[] {
  if (resource === undefined || folder === undefined) return [];
  const whole = all.filter(({ change }) => change.resource === resource);
  const below = whole.filter(({ change }) => isAtOrBelow(change.path, folder));
  return [
    ...(below.length > items.length && below.length < whole.length
      ? [{ what: "the folder with all below it", items: below }]
      : []),
    ...(whole.length > items.length ? [{ what: "the whole resource", items: whole }] : []),
  ];
}

interface ListOptions {
  readonly filter: string;
  readonly choice: Choice;
  readonly toggled: ReadonlySet<string>;
}

/** The rows of the list. With a filter, everything that matches is shown, also inside of folded groups. */
export function rowsOf(
  groups: readonly Group[],
  { filter, choice, toggled }: ListOptions,
): readonly ListRow[] {
  const wanted = filter.trim().toLowerCase();
  return groups.flatMap((group): readonly ListRow[] => {
    const chosen = choice === "all" ? group.items : group.items.filter(CHOICES[choice]);
    const items = wanted === "" ? chosen : chosen.filter((item) => matches(item, wanted));
    if (items.length === 0) return [];
    const isOpen = wanted !== "" || group.isFolded === toggled.has(group.key);
    const shown = isOpen ? items.map((item) => ({ row: "change", key: item.key, item }) as const) : [];
    return [{ row: "group", key: group.key, group: { ...group, items }, isOpen }, ...shown];
  });
}

function matches({ change, rename }: Listed, wanted: string): boolean {
  const { resource, path, operation, kind } = change;
  return `${resource}/${path} ${rename?.from ?? ""} ${operation} ${kind}`.toLowerCase().includes(wanted);
}

export function nameOf({ change: { resource, path } }: Listed): string {
  return path === "." ? resource : baseName(path);
}
