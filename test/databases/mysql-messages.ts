import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import type { HeldScene } from "./held-scene.ts";
import { command, keyIn, login, NATIVE, RawMysqlClient } from "./raw-mysql-client.ts";

type Opened = { readonly scene: HeldScene; readonly url: string } & AsyncDisposable;

const query = (sql: string) => command(3, sql);

/** What the holder of a transaction answers to messages that drivers seldom send, or never. */
export function describeMysqlMessages(open: () => Promise<Opened>): void {
  describe("messages of MySQL's protocol in a held transaction", () => {
    it("[B1] every way to log in comes to its end", async () => {
      await using at = await open();
      const key = keyIn(at.url);
      for (const [method, ...answers] of [
        [NATIVE, "OK 2"],
        ["caching_sha2_password", "\x01\x03", "OK 2"],
      ] as const) {
        using client = await RawMysqlClient.reach(at.url);
        client.send(login(method, client.proof(key, method)), 1);
        for (const answer of answers) assert.equal(await client.packet(), answer, method);
        assert.equal(await client.ask(command(0x0e)), "OK 2");
      }
      for (const [password, answer] of [
        [key, "OK 2"],
        ["wrong", "E1045"],
      ] as const) {
        using client = await RawMysqlClient.reach(at.url);
        client.send(login("client_ed25519", Buffer.alloc(0)), 1);
        assert.match(await client.packet(), /^\xfemysql_native_password\0.{20}\0$/s);
        client.send(client.proof(password), 3);
        assert.equal(await client.packet(), answer);
      }
      using nobody = await RawMysqlClient.reach(at.url);
      nobody.send(login(NATIVE, Buffer.alloc(0)), 1);
      assert.match(await nobody.packet(), /^\xfe/);
      nobody.send(Buffer.alloc(0), 3);
      assert.equal(await nobody.packet(), "E1045");
    });

    it("[B1] get the answers of a server", async () => {
      await using at = await open();
      using client = await RawMysqlClient.open(at.url);
      assert.equal(await client.ask(query("")), "E1065");
      assert.equal(await client.ask(query("BEGIN")), "OK 3");
      assert.equal(await client.ask(query(`DELETE FROM ${at.scene.table}`)), "OK 3");
      assert.equal(await client.ask(query("COMMIT AND CHAIN")), "OK 3");
      assert.equal(await client.ask(command(0x1f)), "OK 2", "a reset ends the transaction");
      assert.equal(await client.ask(query("SET autocommit = 0")), "OK 0");
      assert.equal(await client.ask(query(`DELETE FROM ${at.scene.table}`)), "OK 1");
      assert.equal(await client.ask(query("ROLLBACK")), "OK 0");
      assert.equal(await client.ask(command(0x02, "nowhere")), "E1044");
      assert.equal(await client.ask(command(0x0c, Buffer.from([99, 0, 0, 0]))), "E1094");
      assert.match(await client.ask(command(0x09)), /Drydock/);
      assert.match(await client.ask(command(0x04, `${at.scene.table}\0`)), /\x03def.*\x02id/s);
      assert.match(await client.packet(), /\x03def/);
      assert.match(await client.packet(), /^\xfe/);
      for (const code of [0x07, 0x08, 0x0d, 0x12, 0x20, 0xfa])
        assert.equal(await client.ask(command(code)), "E1047");
      assert.equal(await client.ask(command(0x17, Buffer.alloc(9))), "E1243");
      assert.equal(await client.ask(query("COMMIT RELEASE")), "OK 0");
      assert.equal(await client.packet(), "closed");
    });

    it("[B2] that no server could make sense of fail their own client only", async () => {
      await using at = await open();
      const { scene, url } = at;
      using other = await RawMysqlClient.open(url);
      assert.equal(await other.ask(query(`INSERT INTO ${scene.table} VALUES (3, 'kept')`)), "OK 2");
      {
        using client = await RawMysqlClient.reach(url);
        client.send(Buffer.from("GET / HTTP/1.1\r\n\r\n"), 1);
        assert.equal(await client.packet(), "E1043");
      }
      {
        using client = await RawMysqlClient.reach(url);
        client.send(login(NATIVE, Buffer.alloc(20)).subarray(0, 20), 1);
        assert.equal(await client.packet(), "E1043");
      }
      for (const content of [
        ...[Buffer.alloc(0), command(0x17), command(0x18), command(0x1a), command(0x16), command(0x11)],
        ...Array.from({ length: 20 }, () => randomBytes(100)),
      ]) {
        using client = await RawMysqlClient.open(url);
        client.send(content);
        client.send(command(0x01));
        while ((await client.packet()) !== "closed");
      }
      {
        // The beginning of a message that is far too long.
        using client = await RawMysqlClient.open(url);
        const part = Buffer.alloc(0xff_ff_ff, "x");
        for (let sequence = 0; sequence < 5; sequence += 1) client.send(part, sequence);
        assert.equal(await client.packet(), "E1835");
        assert.equal(await client.packet(), "closed");
      }
      {
        // Many requests, none of whose answers is read. The server sends each of these in one piece, so the
        // client never has the turn while the proxy waits for it.
        using client = await RawMysqlClient.open(url);
        client.socket.pause();
        for (let sent = 0; sent < 1000; sent += 1)
          client.send(query(`SELECT REPEAT('x', 3000) FROM ${scene.table}`));
        assert.equal(await other.ask(query(`INSERT INTO ${scene.table} VALUES (4, 'kept')`)), "OK 2");
      }
      assert.equal(await scene.inside(), "1|one 2|two 3|kept 4|kept");
      assert.equal(await scene.original(), "1|one 2|two");
    });
  });
}
