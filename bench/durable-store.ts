import { DatabaseSync } from "node:sqlite";

/** A store that makes each write durable, as ours does. */
export function openDurableStore(path: string): { write(text: string): void; close(): void } {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE record (text TEXT)");
  const insert = database.prepare("INSERT INTO record VALUES (?)");
  return { write: (text) => insert.run(text), close: () => database.close() };
}
