import type { Store } from "../../src/store/store.ts";

/** A store to test: one kind of database, emptied for each test. */
export interface StoreFixture {
  /** The kind of database, for titles. */
  readonly name: string;
  openEmpty(): Promise<Store>;
  /** Opens the store again, as the next process does. */
  open(): Promise<Store>;
  /** Runs a statement in the database, behind the store's back. */
  sql(statement: string): Promise<void>;
}
