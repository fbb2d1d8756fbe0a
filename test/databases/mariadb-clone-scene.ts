import mysql from "mysql2/promise";
import { OWNER, type TestServer } from "../support/database-servers.ts";
import { AnyCloneScene } from "./clone-scene.ts";

/** A plan over a clone of a database of MariaDB. */
export class MariadbCloneScene extends AnyCloneScene<mysql.Connection> {
  /** Makes the database, filled by this script as the owner. */
  static async make(server: TestServer, script: string): Promise<MariadbCloneScene> {
    const scene = new MariadbCloneScene(server);
    const own = `\`${scene.database.replaceAll("_", "\\_")}\``;
    await server.sql(`CREATE DATABASE ${scene.database}`, "mysql");
    await server.sql(`GRANT ALL PRIVILEGES ON ${own}.* TO '${OWNER.user}'@'localhost'`, "mysql");
    // For the mark of a landing.
    await server.sql(
      `GRANT CREATE, DROP, SELECT, INSERT ON \`drydock\\_%\`.* TO '${OWNER.user}'@'localhost'`,
      "mysql",
    );
    const owner = await scene.connect(server.url(scene.database));
    await scene.query(owner, script);
    await scene.end(owner);
    return scene;
  }

  protected async connect(url: string): Promise<mysql.Connection> {
    const { username, password, pathname, searchParams } = new URL(url.replace("@/", "@localhost/"));
    const connection = await mysql.createConnection({
      socketPath: String(searchParams.get("socket")),
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
      database: pathname.slice(1),
      multipleStatements: true,
      rowsAsArray: true,
      charset: "utf8mb4",
      dateStrings: true,
      supportBigNumbers: true,
      bigNumberStrings: true,
    });
    // A restore or the end of the plan ends it.
    connection.on("error", () => undefined);
    return connection;
  }

  protected async end(client: mysql.Connection): Promise<void> {
    await client.end().catch(() => undefined);
  }

  async query(client: mysql.Connection, script: string): Promise<string[]> {
    const [result] = await client.query(script);
    const sets = Array.isArray(result) ? (result as unknown[]) : [];
    const last = (
      Array.isArray(sets.at(-1)) && Array.isArray((sets.at(-1) as unknown[])[0]) ? sets.at(-1) : sets
    ) as unknown[];
    return last.flatMap((row) => (Array.isArray(row) ? [row.map((value) => String(value)).join("|")] : []));
  }
}
