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
 *
 * A claim looks only at the claims in its way, and at those of its own host: what it costs does not grow with
 * the hosts of a fleet.
 */
export function claimStatement(keys: readonly string[], owner: Owner, view?: HostView): string {
  const [host, epoch] = view === undefined ? ["NULL", "NULL"] : [escapeLiteral(view.host), view.epoch];
  return `
    WITH ${inTheWay(keys, owner)},
    taken AS (SELECT position, owner FROM near ORDER BY position LIMIT 1),
    granted AS (
      INSERT INTO claims (key, owner_id, is_shared, owner, host, epoch)
        SELECT key, ${escapeLiteral(stored(owner.id))}, is_shared, ${escapeLiteral(JSON.stringify(owner))},
          ${host}, ${epoch} FROM wanted
        WHERE NOT EXISTS (SELECT FROM taken)
        ON CONFLICT DO NOTHING
    )
    SELECT position, owner FROM taken`;
}

/**
 * The tables `wanted`, of the keys, and `near`, of the claims of other owners that exclude one of them. Each
 * half of `near` is a range of the index of the keys.
 */
function inTheWay(keys: readonly string[], owner: Owner): string {
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
  return `wanted (position, key, is_shared, around, is_path) AS (VALUES ${wanted.join(", ")}),
    near AS (
      SELECT position, claim.* FROM wanted, LATERAL (
        SELECT claims.* FROM claims WHERE claims.key = ANY (around)
        UNION ALL SELECT claims.* FROM claims
          WHERE is_path AND claims.key >= wanted.key || '/' AND claims.key < wanted.key || '0'
      ) AS claim
      WHERE claim.owner_id <> ${escapeLiteral(stored(owner.id))} AND NOT (claim.is_shared AND wanted.is_shared)
    )`;
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
 * Drops what operations of other hosts hold of these keys whose lease is gone. Three things only their own
 * host can judge, by the lock of the process that holds them: its originals, plans with a sandbox there,
 * which that process may be changing, and a plan that it was landing by itself. Nobody else could use these
 * without that host.
 */
export function dropExpiredStatement(keys: readonly string[], owner: Owner, { host }: HostView): string {
  return `
    WITH ${inTheWay(keys, owner)},
    expired AS (
      SELECT key, owner_id, is_shared FROM near
        WHERE host <> ${escapeLiteral(host)} AND transaction IS NULL
        AND NOT starts_with(key, 'path:/' || host || ':')
        AND NOT EXISTS (SELECT FROM transactions t
          WHERE t.plan_id = ${PLAN_OF_KEY} AND t.phase NOT IN ('done', 'aborted'))
        AND NOT EXISTS (SELECT FROM plans p
          WHERE p.id = ${PLAN_OF_KEY} AND position('"location":"' || near.host || ':' IN p.record) > 0)
        AND NOT EXISTS (SELECT FROM hosts h WHERE h.name = near.host AND h.epoch = near.epoch
          AND h.until > clock_timestamp())
    )
    DELETE FROM claims USING expired WHERE claims.key = expired.key AND claims.owner_id = expired.owner_id
      AND claims.is_shared = expired.is_shared`;
}

/** The plan of a claim, by its key; an empty text for the claim of something else. */
const PLAN_OF_KEY = "CASE WHEN starts_with(near.key, 'plan:') THEN substr(near.key, 6) ELSE '' END";

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
