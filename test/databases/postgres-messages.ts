import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { FLUSH, message, SYNC } from "../../src/database/postgres/proxy/wire.ts";
import { type HeldScene, until } from "./held-scene.ts";
import { bind, execute, parse, query, RawPostgresClient, startup } from "./raw-postgres-client.ts";

/** How many clients sleep in a statement. */
export const SLEEPING =
  "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND backend_type = 'client backend'";

export type Opened = { readonly scene: HeldScene; readonly url: string } & AsyncDisposable;

/** What the holder of a transaction answers to messages that drivers seldom send, or never. */
export function describeMessages(open: () => Promise<Opened>): void {
  describe("messages of PostgreSQL's protocol in a held transaction", () => {
    it("[B1] get the answers of a server", async () => {
      await using at = await open();
      const { table } = at.scene;
      using one = await RawPostgresClient.open(at.url);
      using two = await RawPostgresClient.open(at.url);

      assert.equal(await one.ask(query(";")), "I ZI");
      assert.equal(await one.ask(query("BEGIN"), query("SELEC")), "C(BEGIN) ZT");
      assert.equal(await one.until("Z"), "E42601 ZE");
      assert.equal(await one.ask(query("SELECT 1")), "E25P02 ZE");
      assert.equal(await one.ask(query("COMMIT")), "C(ROLLBACK) ZI");
      assert.equal(await one.ask(parse("", "SELEC"), query("SELECT 1"), SYNC), "E42601 ZI", "skipped");
      assert.equal(await one.ask(parse("", "SELECT 1; SELECT 2"), SYNC), "E42601 ZI");
      assert.equal(await one.ask(bind("", "nothing"), execute(""), SYNC), "E26000 ZI");

      const rows = [parse("", "SELECT generate_series(1, 3)"), bind("", ""), execute("", 2), execute("", 2)];
      assert.equal(await one.ask(...rows, SYNC), "1 2 D D s D C(SELECT 1) ZI");

      one.send(query(`COPY ${table} FROM STDIN`), message("d", Buffer.from("x\tnot a number\n")));
      assert.equal(await one.until("Z"), "G E22P02 ZI", "the error does not wait for the end of the data");
      one.send(message("c"));

      assert.equal(
        await one.ask(query("BEGIN READ ONLY; SELECT 1; COMMIT")),
        "C(BEGIN) T D C(SELECT 1) C(COMMIT) ZI",
      );
      assert.equal(await two.ask(query("CREATE TABLE brief (id int)")), "C(CREATE TABLE) ZI");
      assert.equal(await one.ask(parse("", "SELECT id FROM brief"), SYNC), "1 ZI");
      assert.equal(await two.ask(query("DROP TABLE brief")), "C(DROP TABLE) ZI");
      assert.equal(await one.ask(bind("", ""), execute(""), SYNC), "E42P01 ZI", "prepared again in vain");

      const long = "n".repeat(60);
      for (const end of ["a", "b"])
        assert.equal(await one.ask(query(`PREPARE ${long}${end} AS SELECT 1`)), "C(PREPARE) ZI");
      assert.equal(await one.ask(query("DEALLOCATE ALL")), "C(DEALLOCATE ALL) ZI");
      assert.equal(await one.ask(query(`PREPARE ${long}a AS SELECT 1`)), "C(PREPARE) ZI", "it is free again");
    });

    it("[B1] may be of a newer version, and follow a wish for encryption at once", async () => {
      await using at = await open();
      const { socket, hello, password } = await RawPostgresClient.reach(at.url);
      try {
        const words = hello.subarray(8, -1).toString().split("\0").slice(0, -1);
        const newer = startup((3 << 16) | 9, [...words, "_pq_.later", "on"]);
        socket.write(Buffer.concat([Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]), newer, password]));
        let got = Buffer.alloc(0);
        while (got.indexOf("Z\0\0\0\x05I") < 0) {
          const [bytes] = await once(socket, "data");
          got = Buffer.concat([got, bytes]);
        }
        assert.equal(got.subarray(0, 2).toString(), "Nv");
        assert.equal(got.readUInt32BE(6), (3 << 16) | 2);
        assert.match(got.toString("latin1", 14), /^_pq_\.later\0R/);
      } finally {
        socket.destroy();
      }
    });

    it("[B2] that no server could make sense of fail their own client only", async () => {
      await using at = await open();
      const { scene, url } = at;
      using other = await RawPostgresClient.open(url);
      assert.equal(
        await other.ask(query(`INSERT INTO ${scene.table} VALUES (3, 'kept')`)),
        "C(INSERT 0 1) ZI",
      );
      const copy = [parse("", `COPY ${scene.table} FROM STDIN`), bind("", ""), execute("")];
      const cases: readonly (readonly [answer: string, ...sent: readonly Buffer[]])[] = [
        ["E08P01 closed", message("D", Buffer.from("S"), "n".repeat(20_000))],
        ["E08P01 closed", message("H", Buffer.alloc(20_000)), SYNC],
        ["E08P01 closed", Buffer.from([81, 0, 0, 0, 1])],
        ["E08P01 closed", message("Q", Buffer.from("SELECT 1"))],
        ["1 E08P01 ZI", parse("", "SELECT $1::int"), message("B", "", "", Buffer.from([0, 9])), SYNC],
        ["E22021 ZI", message("Q", Buffer.from("SELECT '\xe9'\0", "latin1"))],
        ["1 2 G E08P01 closed", ...copy, query("SELECT 1")],
        ["1 2 G E08P01 closed", ...copy, parse("", "BEGIN")],
      ];
      for (const [answer, ...sent] of cases) {
        using client = await RawPostgresClient.open(url);
        const title = sent.map((bytes) => bytes.toString("latin1", 0, 40)).join(" ");
        assert.equal(await client.ask(...sent), answer, title);
      }
      {
        using client = await RawPostgresClient.open(url);
        client.send(parse("", "SELECT pg_sleep(600)"), bind("", ""), execute(""), FLUSH);
        await until(async () => (await scene.server.sql(SLEEPING)) === "1", "it runs, and no Sync follows");
      }
      assert.equal(
        await other.ask(query(`INSERT INTO ${scene.table} VALUES (4, 'kept')`)),
        "C(INSERT 0 1) ZI",
      );
      assert.equal(await scene.inside(), "1|one 2|two 3|kept 4|kept");
      assert.equal(await scene.original(), "1|one 2|two");
    });

    it("[B2][B3] that failed, and settings that can't be made any more, keep no other work back", async () => {
      await using at = await open();
      const { scene, url } = at;
      using one = await RawPostgresClient.open(url);
      using two = await RawPostgresClient.open(url);
      assert.equal(await one.ask(query("BEGIN; SAVEPOINT s")), "C(BEGIN) C(SAVEPOINT) ZT");
      const add = parse("", `INSERT INTO ${scene.table} VALUES ($1, 'x')`);
      assert.equal(await one.ask(add, bind("", "", "five"), execute(""), SYNC), "1 E22P02 ZE");
      await one.ask(query("ROLLBACK TO s"));
      assert.equal(await one.ask(add, bind("", "", "5"), execute(""), SYNC), "1 2 C(INSERT 0 1) ZT");
      assert.equal(await one.ask(query("COMMIT")), "C(COMMIT) ZI");

      await one.ask(query("CREATE TEXT SEARCH CONFIGURATION own (COPY = simple)"));
      assert.equal(await one.ask(query("SET default_text_search_config = own")), "C(SET) ZI");
      assert.equal(
        await two.ask(query("DROP TEXT SEARCH CONFIGURATION own")),
        "C(DROP TEXT SEARCH CONFIGURATION) ZI",
      );
      assert.equal(await one.ask(query("SELECT 1")), "E22023 ZI");
      assert.equal(await two.ask(query("SELECT 1")), "T D C(SELECT 1) ZI");

      await scene.failToApply();
      assert.equal(await scene.inside(), "1|one 2|two 5|x");
    });
  });
}
