import type { EntryKind } from "../../system/calls/facts.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import type { ChangeSet, EntryOperation, TreeEntry } from "../changes/change-set.ts";
import { Conflicts } from "../checks/conflicts.ts";
import type { OpenSandbox } from "../sandbox/sandbox-reference.ts";
import type { SandboxTree } from "../sandbox/sandbox-tree.ts";
import { runAtOnce } from "../work/pace.ts";

/** An entry that the plan and another writer changed. */
export interface ConflictingEntry {
  readonly path: string;
  readonly operation: EntryOperation;
  readonly before: BaseFacts | undefined;
  /** The kind of the plan's entry; undefined if the plan deletes it. */
  readonly kind: EntryKind | undefined;
  /** How many names the plan's entry has. */
  readonly names: number;
  readonly why: string;
  /** Whether the conflict is that of a folder above. */
  readonly isBelow: boolean;
}

/** The entries of a sandbox that can't land, because another writer changed them too. */
export function conflictingEntries(sandbox: OpenSandbox<SandboxTree>): readonly ConflictingEntry[] {
  const { tree, original, own } = sandbox;
  const changes = runAtOnce(sandbox.changes());
  const baseOf = tree.baseLookup(original);
  using conflicts = new Conflicts({ original, sandbox: own, age: tree.age, baseOf });
  return [...found(changes, conflicts)];
}

function* found({ entries }: ChangeSet, conflicts: Conflicts): Generator<ConflictingEntry> {
  for (const entry of entries) {
    if (conflicts.judge(entry) !== "conflict") continue;
    const facts = factsOf(entry);
    yield {
      ...facts,
      why: conflicts.found.at(-1)?.why ?? "",
      isBelow: conflicts.below.has(facts.path),
    };
  }
}

/** The fields of an entry may be getters. */
function factsOf({ path, operation, before, after }: TreeEntry): Omit<ConflictingEntry, "why" | "isBelow"> {
  return { path, operation, before, kind: after?.kind, names: after?.nlink ?? 1 };
}
