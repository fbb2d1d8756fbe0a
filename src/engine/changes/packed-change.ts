import type { Facts } from "../../system/calls/facts.ts";
import type { BaseFacts } from "../base/baseline.ts";
import type { EntryOperation, TreeChange, TreeEntry } from "./change-set.ts";
import type { PackedFacts } from "./packed-facts.ts";

/** The two sides of a change or an entry, and the parts that differ. */
export type Sides = Omit<TreeChange, "path" | "operation">;

/** The fields that few changes have. */
type More = Pick<Sides, "xattrs" | "parts" | "storedAt">;

/** The row of each side, or NO_ROW. */
interface Rows {
  readonly packed: PackedFacts;
  readonly before: number;
  readonly after: number;
  readonly more: More | undefined;
}

const NO_ROW = -1;

/** A change or an entry with its facts packed into rows of numbers: a diff may hold a hundred thousand. */
export class PackedChange<Operation extends string> implements Sides {
  readonly path: string;
  readonly operation: Operation;
  /** If the change is an entry too: the operation of the entry. */
  landsAs: EntryOperation | undefined;
  readonly #packed: PackedFacts;
  readonly #before: number;
  readonly #after: number;
  readonly #more: More | undefined;

  constructor(path: string, operation: Operation, { packed, before, after, more }: Rows) {
    this.path = path;
    this.operation = operation;
    this.#packed = packed;
    this.#before = before;
    this.#after = after;
    this.#more = more;
  }

  get before(): BaseFacts | undefined {
    return this.#before === NO_ROW ? undefined : this.#packed.base(this.#before);
  }

  get after(): Facts | undefined {
    return this.#after === NO_ROW ? undefined : this.#packed.now(this.#after);
  }

  get xattrs(): Sides["xattrs"] {
    return this.#more?.xattrs;
  }

  get parts(): Sides["parts"] {
    return this.#more?.parts;
  }

  get storedAt(): Sides["storedAt"] {
    return this.#more?.storedAt;
  }

  /** The entry at the same path, if there is one. */
  get entry(): TreeEntry | undefined {
    if (this.landsAs === undefined) return undefined;
    const rows = { packed: this.#packed, before: this.#before, after: this.#after, more: this.#more };
    return new PackedChange(this.path, this.landsAs, rows);
  }
}

/** Packs the facts of both sides. */
export function packedChange<Operation extends string>(
  packed: PackedFacts,
  path: string,
  operation: Operation,
  { before, after, xattrs, parts, storedAt }: Sides,
): PackedChange<Operation> {
  const hasMore = xattrs !== undefined || parts !== undefined || storedAt !== undefined;
  return new PackedChange(path, operation, {
    packed,
    before: before === undefined ? NO_ROW : packed.addBase(before),
    after: after === undefined ? NO_ROW : packed.addNow(after),
    more: hasMore ? { xattrs, parts, storedAt } : undefined,
  });
}
