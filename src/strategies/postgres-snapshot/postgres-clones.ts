import { UnsupportedError } from "../../core/errors/errors.ts";
import { prepareChanges } from "../../database/postgres/changes/original-transaction.ts";
import { POSTGRES_PROCESSES } from "../../database/postgres/clone/postgres-clone-server.ts";
import { findPostgresPrograms, postgresPrograms } from "../../database/postgres/clone/postgres-programs.ts";
import { PostgresDatabase } from "../../database/postgres/postgres-database.ts";
import { endServer } from "../../database/server/clone/clone-processes.ts";
import { CLONE_DATA } from "../../database/server/clone/clone-server.ts";
import { whyNotWithoutNetwork } from "../../database/server/clone/private-network.ts";
import type { CloneDialect } from "../database-snapshot/clone.ts";
import { PostgresClone } from "./postgres-clone.ts";

/** Clones of PostgreSQL. */
export const POSTGRES_CLONES: CloneDialect = {
  async whyNone() {
    if ((await findPostgresPrograms()).length === 0) return "no server of PostgreSQL is installed here";
    return await whyNotWithoutNetwork();
  },

  async ways() {
    const why = await POSTGRES_CLONES.whyNone();
    const versions = (await findPostgresPrograms()).map(({ major }) => major).join(", ");
    const detail =
      why ?? `works, for databases of PostgreSQL ${versions}: a server of the plan's own, filled by pg_dump`;
    return [{ name: "postgres", works: why === undefined, detail }];
  },

  async look(login) {
    const database = await PostgresDatabase.open(login);
    const { product, whyNoPrepare } = database;
    await database.close();
    if (whyNoPrepare !== undefined)
      throw new UnsupportedError(`A clone of ${login.location} could not land: ${whyNoPrepare}.`, {
        hint: "Give the server a max_prepared_transactions above 0 and connect to it directly, or use transaction_rollback.",
      });
    const { major } = await postgresPrograms(Number(/(\d+)/.exec(product)?.[1] ?? 0));
    return { server: "postgres", major };
  },

  places: () => [],

  notes: ({ metadata }) => [
    `a clone by pg_dump, on a server of its own (PostgreSQL ${metadata["major"]}) without a network, which ends with the plan`,
    "roles, subscriptions, large objects and other databases of the server do not land",
  ],

  open: async (parts) =>
    new PostgresClone(parts, await postgresPrograms(Number(parts.ref.metadata["major"]))),

  end: async (folder) => await endServer(`${folder}/${CLONE_DATA}`, POSTGRES_PROCESSES),

  prepareChanges,

  async forget() {
    // The server itself remembers how a transaction ended.
  },
};
