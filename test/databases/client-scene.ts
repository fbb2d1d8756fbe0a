import { once } from "node:events";
import { connect } from "node:net";
import pg from "pg";
import { OWNER, type TestServer } from "../support/database-servers.ts";
import { HeldScene } from "./held-scene.ts";
import type { Opened } from "./postgres-messages.ts";

/** A plan over a table of PostgreSQL that clients may change, and the URL at which they find it. */
export async function openForClients(server: TestServer): Promise<Opened> {
  const scene = await HeldScene.make(server);
  await scene.rival(`ALTER TABLE T OWNER TO ${OWNER.user}`);
  await scene.plan();
  const url = await scene.with(({ plans }) => plans.path("p", "db"));
  const dispose = async () => {
    await scene[Symbol.asyncDispose]();
    await scene.rival("DROP TABLE T");
  };
  return { scene, url, [Symbol.asyncDispose]: dispose };
}

export async function connectClient(
  url: string,
  options: pg.ClientConfig = {},
): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url, ...options });
  // The end of a connection is what some tests are about.
  client.on("error", () => undefined);
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: async () => await client.end() });
}

/** Asks for the end of what runs for a client, and waits until that was taken. */
export async function cancel(client: pg.Client): Promise<void> {
  const { processID, secretKey, host, port } = client as unknown as {
    readonly processID: number;
    readonly secretKey: number;
    readonly host: string;
    readonly port: number;
  };
  const asked = Buffer.alloc(16);
  for (const [at, value] of [16, 80877102, processID, secretKey].entries())
    asked.writeUInt32BE(value, at * 4);
  const socket = connect(`${host}/.s.PGSQL.${port}`).on("error", () => undefined);
  socket.end(asked);
  await once(socket, "close");
}
