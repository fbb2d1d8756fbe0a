import { messageOf } from "../../../core/errors/errors.ts";
import { changedDefinitions } from "../../server/clone/changed-definitions.ts";
import {
  type CloneChanges,
  type CloneWork,
  type RecordedStatement,
  reversed,
  type WayBack,
} from "../../server/clone/clone-changes.ts";
import { compareStates } from "../changes/clone-changes.ts";
import { tableShapes } from "../changes/table-shapes.ts";
import type { PostgresConnection } from "../postgres-connection.ts";
import { type ArchivedDefinition, definitionsOf } from "./archive-entries.ts";
import { BASE, copyDatabase, copyOwner, dropDatabase, STAGE } from "./clone-databases.ts";
import { inverseStatements } from "./definition-changes.ts";
import { recordedStatements, runRecorded } from "./definition-record.ts";
import type { PostgresCloneServer } from "./postgres-clone-server.ts";

/** A clone whose work is looked at. */
export interface ClonedDatabase {
  readonly server: PostgresCloneServer;
  /** The database of the plan. */
  readonly database: string;
  /** The one that is compared: that one, or a saved one. */
  readonly work: string;
  /** The user of the plan. */
  readonly user: string;
  /** The number of the transaction after which rows are new. */
  readonly since: string;
  readonly signal: AbortSignal;
}

/**
 * Compares a clone with its base. If definitions differ, the recorded statements are tried on a copy of the
 * base, the stage: only if they lead to the very definitions of the clone can they land, and the rows that
 * differ are those that differ from the stage.
 */
export async function cloneWork(clone: ClonedDatabase): Promise<CloneWork<ArchivedDefinition>> {
  const { server, work, user, since } = clone;
  const [before, after] = [await definitions(clone, BASE), await definitions(clone, work)];
  const changed = changedDefinitions(before, after);
  if (changed.length === 0) {
    const changes = await between(clone, { base: BASE, stage: BASE, work, statements: [], since });
    return withObjects(clone, { definitions: [], changes });
  }
  const statements = await onDatabase(server, work, recordedStatements);
  try {
    const whyNot = await stage(clone, { from: BASE, statements, user, to: after });
    if (whyNot !== undefined) {
      const changes = await between(clone, { base: BASE, stage: BASE, work, statements: [] });
      return withObjects(clone, { definitions: changed, changes, whyNot });
    }
    const changes = await between(clone, { base: BASE, stage: STAGE, work, statements });
    return await withObjects(clone, { definitions: changed, changes });
  } finally {
    await onDatabase(server, "postgres", (admin) => dropDatabase(admin, STAGE));
  }
}

/** The changes that take the work of a clone back, or why there are none that do it exactly. */
export async function inverseWork(
  clone: ClonedDatabase,
  { definitions: changed, changes }: CloneWork<ArchivedDefinition>,
): Promise<WayBack> {
  const { server, work } = clone;
  if (changed.length === 0) return reversed(changes);
  const shapes = {
    before: await onDatabase(server, BASE, tableShapes),
    after: await onDatabase(server, work, tableShapes),
  };
  const statements = inverseStatements(changed, shapes);
  try {
    const to = await definitions(clone, BASE);
    const whyNot = await stage(clone, { from: work, statements, user: clone.user, to });
    if (whyNot !== undefined) return { whyNot };
    return await between(clone, { base: work, stage: STAGE, work: BASE, statements });
  } finally {
    await onDatabase(server, "postgres", (admin) => dropDatabase(admin, STAGE));
  }
}

interface Staging {
  readonly from: string;
  readonly statements: readonly RecordedStatement[];
  readonly user: string;
  /** The definitions that must come of it. */
  readonly to: readonly unknown[];
}

/** Runs statements in a copy. Returns why they do not lead to the wanted definitions. */
async function stage(
  clone: ClonedDatabase,
  { from, statements, user, to }: Staging,
): Promise<string | undefined> {
  const { server } = clone;
  await onDatabase(server, "postgres", async (admin) => {
    await copyDatabase(admin, from, STAGE);
    await copyOwner(admin, clone.database, STAGE);
  });
  const failed = await onDatabase(server, STAGE, async (admin) => {
    await admin.run("BEGIN");
    for (const statement of statements) {
      try {
        await runRecorded(admin, statement, user);
      } catch (thrown) {
        await admin.run("ROLLBACK");
        return `the statement ${JSON.stringify(statement.sql.slice(0, 200))} can't be repeated: ${messageOf(thrown)}`;
      }
    }
    await admin.run("COMMIT");
    return undefined;
  });
  if (failed !== undefined) return failed;
  const [different] = changedDefinitions(
    await definitions(clone, STAGE),
    to as Parameters<typeof changedDefinitions>[1],
  );
  return different === undefined
    ? undefined
    : `the recorded statements do not make ${different.path} as it is in the clone`;
}

async function between(
  { server }: ClonedDatabase,
  names: {
    readonly base: string;
    readonly stage: string;
    readonly work: string;
    readonly statements: readonly RecordedStatement[];
    readonly since?: string;
  },
): Promise<CloneChanges> {
  const base = await server.connect(names.base);
  const staged = names.stage === names.base ? base : await server.connect(names.stage);
  const work = await server.connect(names.work);
  try {
    const { statements, since } = names;
    return await compareStates({
      base,
      stage: staged,
      work,
      statements,
      ...(since !== undefined && { since }),
    });
  } finally {
    for (const connection of new Set([base, staged, work])) await connection.close();
  }
}

const LARGE_OBJECTS = `SELECT (SELECT string_agg(row(oid, lomowner::regrole, lomacl)::text, ';' ORDER BY oid)
    FROM pg_catalog.pg_largeobject_metadata),
  (SELECT encode(sha256(string_agg(convert_to(loid || ':' || pageno || ':', 'UTF8') || data, ''::bytea
    ORDER BY loid, pageno)), 'hex') FROM pg_catalog.pg_largeobject)`;

/** Large objects are compared, and do not land. */
async function withObjects(
  { server, work }: ClonedDatabase,
  found: CloneWork<ArchivedDefinition>,
): Promise<CloneWork<ArchivedDefinition>> {
  const digest = (admin: PostgresConnection) => admin.run(LARGE_OBJECTS);
  const [before, after] = [await onDatabase(server, BASE, digest), await onDatabase(server, work, digest)];
  if (JSON.stringify(before.rows) === JSON.stringify(after.rows)) return found;
  return { ...found, whyNot: found.whyNot ?? "large objects were changed, which can't land" };
}

async function definitions({ server, signal }: ClonedDatabase, database: string) {
  return await definitionsOf(server, database, signal);
}

async function onDatabase<T>(
  server: PostgresCloneServer,
  database: string,
  action: (admin: PostgresConnection) => Promise<T>,
): Promise<T> {
  const connection = await server.connect(database);
  try {
    return await action(connection);
  } finally {
    await connection.close();
  }
}
