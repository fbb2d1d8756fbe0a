import { escapeLiteral } from "pg";
import type { Owner } from "../../core/owner.ts";
import { isShared, pathOf, unshared } from "../../store/claims.ts";
import type { HostView } from "./host-view.ts";

/**
 * Claims in PostgreSQL. A row is one key of one owner. Looking and adding happen in one transaction under a
 * lock, so two owners never both find a key free.
 *
 * Paths are compared as text: those below a folder begin with it and a slash, so they stand between the
 * folder with "/" and with the next character, "0", behind it. A key is stored as the inside of its JSON,
 * which keeps that order and takes every byte that a file's name can have.
 */
export function claimStatement(keys: readonly string[], owner: Owner, view?: HostView): string {
  const [host, epoch] = view === undefined ? ["NULL", "NULL"] : [escapeLiteral(view.host), view.epoch];
  const wanted = keys.map((key, position) => {
    const path = pathOf(unshared(key));
    const around = [...(path ?? []).map((_, count) => pathKey(path?.slice(0, count))), storedKey(key)];
    const facts = [
      escapeLiteral(storedKey(key)),
      isShared(key),
      `ARRAY[${around.map(escapeLiteral).join(", ")}]`,
    ];
    return `(${[position, ...facts, path !== undefined].join(", ")})`;
  });
  return `
    WITH wanted (position, key, is_shared, around, is_path) AS (VALUES ${wanted.join(", ")}),
    taken AS (
      SELECT position, owner FROM wanted JOIN claims ON claims.owner_id <> ${escapeLiteral(stored(owner.id))}
        AND NOT (claims.is_shared AND wanted.is_shared)
        AND (claims.key = ANY (around)
          OR is_path AND claims.key >= wanted.key || '/' AND claims.key < wanted.key || '0')
        ORDER BY position LIMIT 1
    ),
    granted AS (
      INSERT INTO claims (key, owner_id, is_shared, owner, host, epoch)
        SELECT key, ${escapeLiteral(stored(owner.id))}, is_shared, ${escapeLiteral(JSON.stringify(owner))},
          ${host}, ${epoch} FROM wanted
        WHERE NOT EXISTS (SELECT FROM taken)
        ON CONFLICT DO NOTHING
    )
    SELECT position, owner FROM taken`;
}

/** Drops those of the keys that this owner has. */
export function releaseStatement(keys: readonly string[], owner: Owner): string {
  const rows = keys.map((key) => `(${escapeLiteral(storedKey(key))}, ${isShared(key)})`);
  return `DELETE FROM claims WHERE owner_id = ${escapeLiteral(stored(owner.id))}
    AND (key, is_shared) IN (${rows.join(", ")})`;
}

/** Drops all claims of these owners. */
export function dropStatement(owners: readonly Owner[]): string {
  return `DELETE FROM claims WHERE owner_id IN (${owners.map(({ id }) => escapeLiteral(stored(id))).join(", ")})`;
}

/**
 * The owners of claims besides this one that the caller can judge: those of its own machine. The claims of
 * transactions have no owner that could die.
 */
export function othersStatement(owner: Owner, view?: HostView): string {
  const own = view === undefined ? "host IS NULL" : `host = ${escapeLiteral(view.host)}`;
  return `SELECT DISTINCT owner FROM claims WHERE owner_id <> ${escapeLiteral(stored(owner.id))}
    AND transaction IS NULL AND ${own}`;
}

/**
 * Drops what operations of other hosts hold whose lease is gone. Two things only their own host can judge:
 * its originals, which nobody else can use meanwhile, and a plan that it was landing by itself.
 */
export function dropExpiredStatement({ host }: HostView): string {
  return `DELETE FROM claims WHERE host <> ${escapeLiteral(host)} AND transaction IS NULL
    AND NOT starts_with(key, 'path:' || host || ':')
    AND NOT EXISTS (SELECT FROM transactions t WHERE t.phase NOT IN ('done', 'aborted')
      AND claims.key = 'plan:' || t.plan_id)
    AND NOT EXISTS (SELECT FROM hosts h WHERE h.name = claims.host AND h.epoch = claims.epoch
      AND h.until > clock_timestamp())`;
}

/** A path has one spelling here, that of its names. */
function storedKey(key: string): string {
  const path = pathOf(unshared(key));
  return path === undefined ? stored(unshared(key)) : pathKey(path);
}

function pathKey(names: readonly string[] = []): string {
  return stored(["path:", ...names].join("/"));
}

function stored(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
