import { UnsupportedError } from "../../core/errors/errors.ts";
import { forgetChanges, prepareChanges } from "../../database/mysql/changes/original-transaction.ts";
import { MARIADB_PROCESSES } from "../../database/mysql/clone/mariadb-clone-server.ts";
import { findMariadbPrograms, mariadbPrograms } from "../../database/mysql/clone/mariadb-programs.ts";
import { MysqlConnection } from "../../database/mysql/mysql-connection.ts";
import { mysqlFacts } from "../../database/mysql/mysql-facts.ts";
import { endServer } from "../../database/server/clone/clone-processes.ts";
import { whyNotWithoutNetwork } from "../../database/server/clone/private-network.ts";
import { namesIn } from "../../system/data/existence.ts";
import type { CloneDialect } from "../database-snapshot/clone.ts";
import { MariadbClone } from "./mariadb-clone.ts";

/** Clones of MariaDB. */
export const MARIADB_CLONES: CloneDialect = {
  async whyNone() {
    if ((await findMariadbPrograms()) === undefined) return "no server of MariaDB is installed here";
    return await whyNotWithoutNetwork();
  },

  async ways() {
    const why = await MARIADB_CLONES.whyNone();
    const series = (await findMariadbPrograms())?.series;
    const detail =
      why ??
      `works, for databases of MariaDB ${series}: a server of the plan's own, filled row by row in one transaction`;
    return [{ name: "mariadb", works: why === undefined, detail }];
  },

  async look(login) {
    const connection = await MysqlConnection.open(login);
    try {
      const { product, isMaria, whyNoXa } = await mysqlFacts(connection);
      if (!isMaria)
        throw new UnsupportedError(`A clone of ${login.location} can't be made: its server is ${product}.`, {
          hint: "Clones are made of PostgreSQL and MariaDB; use transaction_rollback.",
        });
      if (whyNoXa !== undefined)
        throw new UnsupportedError(`A clone of ${login.location} could not land: ${whyNoXa}.`, {
          hint: "Use a newer server, or transaction_rollback.",
        });
      const { series } = await mariadbPrograms(/\d+\.\d+/.exec(product)?.[0] ?? "");
      return { server: "mariadb", series };
    } finally {
      await connection.close();
    }
  },

  places: ({ planId, resourceId }, location) => [
    { kind: "marker table", location: `${location}#drydock_${planId}_${resourceId}` },
  ],

  notes: ({ metadata }) => [
    `a clone on a server of its own (MariaDB ${metadata["series"]}) without a network, which ends with the plan`,
    "changed rows land; changed definitions, users and other databases of the server do not",
  ],

  open: async (parts) => new MariadbClone(parts, await mariadbPrograms(String(parts.ref.metadata["series"]))),

  async end(folder) {
    for (const name of namesIn(folder)) await endServer(`${folder}/${name}`, MARIADB_PROCESSES);
  },

  prepareChanges,
  forget: forgetChanges,
};
