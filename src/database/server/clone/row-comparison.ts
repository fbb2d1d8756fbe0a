import type { RowChange, RowValues } from "./clone-changes.ts";

/** A row, or equal rows of a table in which nothing tells them apart. */
export interface KeyDigest {
  /** The text of the key; of a table without one, of the row. */
  readonly key: string;
  /** The digest of the row; in a table without a key, how many there are. */
  readonly digest: string;
}

/** One side of a table that is compared. */
export interface RowSource {
  /** In the order of the bytes of the keys. */
  digests(): AsyncIterable<KeyDigest>;
  /** The rows with these keys. */
  rowsAt(keys: readonly string[]): Promise<ReadonlyMap<string, RowValues>>;
}

/** The rows that differ between two tables with the same columns, in the order of the bytes of their keys. */
export async function changedRows(
  before: RowSource,
  after: RowSource,
  { hasKey }: { readonly hasKey: boolean },
): Promise<RowChange[]> {
  const differing: Differing[] = [];
  for await (const each of differingKeys(before, after)) differing.push(each);
  if (!hasKey) return await copiesOf(before, after, differing);
  const [old, fresh] = await Promise.all([
    before.rowsAt(differing.filter((each) => each.before !== undefined).map(({ key }) => key)),
    after.rowsAt(differing.filter((each) => each.after !== undefined).map(({ key }) => key)),
  ]);
  return differing.map(({ key }) => {
    const [was, is] = [old.get(key), fresh.get(key)];
    return { ...(was !== undefined && { before: was }), ...(is !== undefined && { after: is }) };
  });
}

interface Differing {
  readonly key: string;
  readonly before?: string;
  readonly after?: string;
}

/** Walks through both tables in the same order. */
async function* differingKeys(before: RowSource, after: RowSource): AsyncGenerator<Differing> {
  const left = before.digests()[Symbol.asyncIterator]();
  const right = after.digests()[Symbol.asyncIterator]();
  let [a, b] = [await left.next(), await right.next()];
  while (a.done !== true || b.done !== true) {
    const order = a.done === true ? 1 : b.done === true ? -1 : compareBytes(a.value.key, b.value.key);
    if (order < 0 && a.done !== true) yield { key: a.value.key, before: a.value.digest };
    else if (order > 0 && b.done !== true) yield { key: b.value.key, after: b.value.digest };
    else if (a.done !== true && b.done !== true && a.value.digest !== b.value.digest)
      yield { key: a.value.key, before: a.value.digest, after: b.value.digest };
    if (order <= 0) a = await left.next();
    if (order >= 0) b = await right.next();
  }
}

function compareBytes(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** In a table without a key, rows come and go; none is modified. */
async function copiesOf(
  before: RowSource,
  after: RowSource,
  differing: readonly Differing[],
): Promise<RowChange[]> {
  const count = (each: Differing) => Number(each.after ?? "0") - Number(each.before ?? "0");
  const keys = (sign: number) => differing.filter((each) => count(each) * sign > 0).map((each) => each.key);
  const old = await before.rowsAt(keys(-1));
  const fresh = await after.rowsAt(keys(1));
  return differing.flatMap((each): RowChange[] => {
    const copies = Math.abs(count(each));
    const [was, is] = [old.get(each.key), fresh.get(each.key)];
    if (was !== undefined) return [{ before: was, copies }];
    return is === undefined ? [] : [{ after: is, copies }];
  });
}
