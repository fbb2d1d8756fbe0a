import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Behaviour, FakeMysql, FakePostgres } from "../../../test/support/fake-servers.ts";
import { MysqlConnection } from "../mysql/mysql-connection.ts";
import { PostgresConnection } from "../postgres/postgres-connection.ts";
import type { ServerLogin } from "./server-database.ts";

interface Kind {
  readonly scheme: string;
  readonly fake: (behaviour: Behaviour) => FakePostgres | FakeMysql;
  /** Connects and runs a statement, ours or the user's. */
  readonly ask: (login: ServerLogin, whose: "ours" | "user's") => Promise<unknown>;
  readonly allowed: string;
}

const KINDS: readonly Kind[] = [
  {
    scheme: "postgres",
    fake: (behaviour) => new FakePostgres(behaviour),
    ask: async (login, whose) => {
      const connection = await PostgresConnection.open(login);
      try {
        return await connection.run("SELECT 1", [], whose === "ours" ? undefined : "");
      } finally {
        await connection.close();
      }
    },
    allowed: "require_auth=password",
  },
  {
    scheme: "mysql",
    fake: (behaviour) => new FakeMysql(behaviour),
    ask: async (login, whose) => {
      const connection = await MysqlConnection.open(login);
      try {
        return await connection.run("SELECT 1", whose === "ours" ? undefined : "");
      } finally {
        await connection.close();
      }
    },
    allowed: "enable-cleartext-plugin=1",
  },
];
const SECRET = "open-sesame";

function loginTo(scheme: string, port: number, parameters = ""): ServerLogin {
  return { location: `${scheme}://ada@127.0.0.1:${port}/data${parameters}`, secret: SECRET, patienceMs: 150 };
}

/** For a server that answers: on a busy machine that takes a while. */
function patientLogin(scheme: string, port: number): ServerLogin {
  return { ...loginTo(scheme, port), patienceMs: 30_000 };
}

for (const { scheme, fake, ask, allowed } of KINDS)
  describe(`a server of ${scheme} that means no good`, () => {
    for (const behaviour of ["deaf", "silent"] as const)
      it(`[W4] is not waited for when it is ${behaviour}`, async () => {
        await using server = await fake(behaviour).listen();
        await assert.rejects(ask(loginTo(scheme, server.port), "ours"), { code: "SERVER_DOWN" });
      });

    it("[W4] is cut off when it sends more than it was asked for", async () => {
      await using server = await fake("flood").listen();
      await assert.rejects(ask(patientLogin(scheme, server.port), "ours"), { code: "TOO_LARGE" });
      // The kernel takes some 32 MiB for one that does not read.
      assert.ok(server.sent < 48 << 20, `it sent ${server.sent} bytes`);
    });

    it("[W4] is cut off when a statement of the user's gives more than we take", async () => {
      await using server = await fake("flood").listen();
      const refused = { code: "TOO_LARGE", hint: /LIMIT/ };
      await assert.rejects(ask(patientLogin(scheme, server.port), "user's"), refused);
      assert.ok(server.sent < 80 << 20, `it sent ${server.sent} bytes`);
    });

    it("[I12] does not get the password in the clear, unless the user says so in the URL", async () => {
      await using server = await fake("asks in the clear").listen();
      const refused = { code: "PASSWORD_IN_THE_CLEAR", hint: new RegExp(allowed) };
      await assert.rejects(ask(patientLogin(scheme, server.port), "ours"), refused);
      assert.equal(server.heard(SECRET), false);
      // It gets the password, and then says nothing more.
      const login = { ...loginTo(scheme, server.port, `?${allowed}`), patienceMs: 1_500 };
      await assert.rejects(ask(login, "ours"), { code: "SERVER_DOWN" });
      assert.equal(server.heard(SECRET), true);
    });
  });

describe("a server of mysql that asks for the password under a key of its own", () => {
  it("[I12] does not get to send its key", async () => {
    await using server = await new FakeMysql("asks under its key").listen();
    const refused = { code: "PASSWORD_IN_THE_CLEAR", hint: /get-server-public-key=1/ };
    await assert.rejects(
      KINDS[1]?.ask(patientLogin("mysql", server.port), "ours") ?? Promise.resolve(),
      refused,
    );
  });
});
