import type { PreparedCommit, Transaction } from "../../core/strategy.ts";

/** The part of a prepared landing that the strategy of folders lands. */
export const FILES = "files";

/** What a prepared landing consists of: the files, and a part for each repository that changes. */
export type PreparedParts = { readonly [part: string]: PreparedCommit };

/** A part by its name; null if there is nothing to do. */
export type PreparedPart = readonly [name: string, prepared: PreparedCommit | null];

export function together(parts: readonly PreparedPart[]): PreparedCommit | null {
  const made = parts.flatMap(([name, prepared]) => (prepared === null ? [] : [[name, prepared] as const]));
  if (made.length === 0) return null;
  const data = Object.fromEntries(made.map(([name, prepared]) => [name, { ...prepared }]));
  return { changes: made.reduce((sum, [, { changes }]) => sum + changes, 0), data };
}

export function partsOf({ data }: PreparedCommit): PreparedParts {
  return data as unknown as PreparedParts;
}

/** The transaction as the strategy of folders knows it. */
export function ofFiles(transaction: Transaction): Transaction {
  const { undoes } = transaction;
  const files = undoes === undefined ? undefined : partsOf(undoes.prepared)[FILES];
  return undoes === undefined || files === undefined
    ? transaction
    : { ...transaction, undoes: { ...undoes, prepared: files } };
}
