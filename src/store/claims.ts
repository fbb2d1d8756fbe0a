import type { Owner } from "../core/owner.ts";
import { claimShape } from "./record-shapes.ts";
import { columnText } from "./row-codec.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";
import type { ClaimResult } from "./store.ts";

/**
 * Claims say which owner may work on what. A row is one key and its owner; a shared key has a row for each
 * owner, named by both. Looking and writing happen in one transaction, so two processes never both find a key
 * free. A claim needs no flush: a power cut ends its owner too.
 */
interface HeldClaim {
  readonly key: string;
  readonly owner: Owner;
}

const PATH_PREFIX = "path:";
const SHARED_PREFIX = "shared:";

/** The key that many owners may share; it excludes an owner that claims the key alone. */
export function sharedKey(key: string): string {
  return `${SHARED_PREFIX}${key}`;
}

/**
 * Whether claims of different owners exclude each other: equal keys, or paths of which one contains the
 * other, unless both are shared.
 */
export function claimsExclude(one: string, other: string): boolean {
  if (isShared(one) && isShared(other)) return false;
  return keysOverlap(unshared(one), unshared(other));
}

function keysOverlap(one: string, other: string): boolean {
  if (one === other) return true;
  const paths = [pathOf(one), pathOf(other)].filter((path) => path !== undefined);
  const [shorter, longer] = paths.sort((a, b) => a.length - b.length);
  return longer !== undefined && shorter?.every((name, index) => name === longer[index]) === true;
}

export function isShared(key: string): boolean {
  return key.startsWith(SHARED_PREFIX);
}

export function unshared(key: string): string {
  return isShared(key) ? key.slice(SHARED_PREFIX.length) : key;
}

/** Grants all keys or none; see Store.claim. */
export function claimKeys(
  connection: SqliteConnection,
  keys: readonly string[],
  owner: Owner,
  isAlive: (owner: Owner) => boolean,
): ClaimResult {
  return connection.transaction("ordered", () => {
    const others = livingOthers(connection, owner, isAlive);
    for (const key of keys) {
      const holder = others.find((claim) => claimsExclude(claim.key, key))?.owner;
      if (holder !== undefined) return { granted: false, key, holder };
    }
    for (const key of keys) insertClaim(connection, { key, owner });
    return { granted: true };
  });
}

/** Releases those of the keys that this owner holds. */
export function releaseKeys(connection: SqliteConnection, keys: readonly string[], owner: Owner): void {
  connection.transaction("ordered", () => {
    for (const key of keys) {
      const row = rowName({ key, owner });
      connection.run(
        "DELETE FROM claims WHERE key = ? AND owner_id = ?",
        columnText(row),
        columnText(owner.id),
      );
    }
  });
}

/** The claims of other living owners. Drops all claims of dead owners on the way: nothing else would. */
function livingOthers(
  connection: SqliteConnection,
  owner: Owner,
  isAlive: (owner: Owner) => boolean,
): readonly HeldClaim[] {
  const others = connection.records<HeldClaim>(
    claimShape,
    "SELECT record FROM claims WHERE owner_id <> ?",
    columnText(owner.id),
  );
  const aliveById = new Map<string, boolean>();
  for (const claim of others) {
    if (aliveById.has(claim.owner.id)) continue;
    const alive = isAlive(claim.owner);
    aliveById.set(claim.owner.id, alive);
    if (!alive) connection.run("DELETE FROM claims WHERE owner_id = ?", columnText(claim.owner.id));
  }
  return others.filter((claim) => aliveById.get(claim.owner.id) === true);
}

function insertClaim(connection: SqliteConnection, claim: HeldClaim): void {
  connection.run(
    `INSERT INTO claims (key, owner_id, record) VALUES (?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET owner_id = excluded.owner_id, record = excluded.record`,
    columnText(rowName(claim)),
    columnText(claim.owner.id),
    JSON.stringify(claim),
  );
}

function rowName({ key, owner }: HeldClaim): string {
  return isShared(key) ? `${SHARED_PREFIX}${owner.id}:${unshared(key)}` : key;
}

/** The names of the path that a key is for; the root has none. Undefined for other keys. */
export function pathOf(key: string): readonly string[] | undefined {
  if (!key.startsWith(PATH_PREFIX)) return undefined;
  return key
    .slice(PATH_PREFIX.length)
    .split("/")
    .filter((name) => name !== "");
}
