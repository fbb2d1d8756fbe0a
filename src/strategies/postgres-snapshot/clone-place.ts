import { UnsupportedError } from "../../core/errors/errors.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { IntendedPlace } from "../../core/strategy.ts";
import type { StrategyWay } from "../../core/strategy-abilities.ts";
import { findPostgresPrograms, postgresPrograms } from "../../database/postgres/clone/postgres-programs.ts";
import { whyNotWithoutNetwork } from "../../database/postgres/clone/private-network.ts";
import { PostgresDatabase } from "../../database/postgres/postgres-database.ts";
import { homePath } from "../../engine/workspace/workspace.ts";
import type { NewReference } from "../folder/workspace-strategy.ts";
import { dataOf } from "./clone-sandbox.ts";

/** The name of a socket has few bytes, so the folders of sockets are not in the workspaces. */
const SOCKETS = "pg";
const PATIENCE_MS = 10_000;

/** Why no clone can be made on this machine; undefined if one can. */
export async function whyNoClone(): Promise<string | undefined> {
  if ((await findPostgresPrograms()).length === 0) return "no server of PostgreSQL is installed here";
  return await whyNotWithoutNetwork();
}

/** The mechanisms, for `doctor`. */
export async function cloneWays(): Promise<readonly StrategyWay[]> {
  const why = await whyNoClone();
  const versions = (await findPostgresPrograms()).map(({ major }) => major).join(", ");
  const detail =
    why ?? `works, for databases of PostgreSQL ${versions}: a server of the plan's own, filled by pg_dump`;
  return [{ name: "postgres", works: why === undefined, detail }];
}

/** Decides about a new clone. Connects to the original, and makes nothing. */
export async function designClone(
  stateDir: string,
  made: NewReference,
  { location, secret }: { readonly location: string; readonly secret: string | undefined },
): Promise<{ readonly ref: SandboxRef; readonly places: readonly IntendedPlace[] }> {
  const database = await PostgresDatabase.open({ location, secret, patienceMs: PATIENCE_MS });
  const { product, whyNoPrepare } = database;
  await database.close();
  if (whyNoPrepare !== undefined)
    throw new UnsupportedError(`A clone of ${location} could not land: ${whyNoPrepare}.`, {
      hint: "Give the server a max_prepared_transactions above 0 and connect to it directly, or use transaction_rollback.",
    });
  const { major } = await postgresPrograms(Number(/(\d+)/.exec(product)?.[1] ?? 0));
  const { planId, resourceId, sandboxId } = made;
  const workspace = homePath(stateDir, sandboxId);
  const sockets = `${stateDir}/${SOCKETS}/${planId.slice(-10)}${resourceId.slice(-6)}`;
  const metadata = {
    server: "postgres",
    workspace,
    placement: "state",
    root: workspace,
    location,
    sockets,
    major,
  };
  return {
    ref: { ...made, metadata },
    places: [
      { kind: "folder", location: workspace },
      { kind: "folder", location: sockets },
      { kind: "process", location: dataOf(workspace) },
      { kind: "prepared transaction", location: `${location}#drydock-${planId}-${resourceId}` },
    ],
  };
}
