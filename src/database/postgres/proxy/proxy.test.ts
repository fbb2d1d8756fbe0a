import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clientStatements, ownName } from "./client-statement.ts";
import { FirstWords, settingsOf } from "./startup.ts";
import {
  ASK_PASSWORD,
  commandComplete,
  errorFields,
  errorResponse,
  MessageReader,
  message,
  readyForQuery,
} from "./wire.ts";
import { Executed, Work } from "./work.ts";

describe("messages of PostgreSQL's protocol", () => {
  const all = Buffer.concat([
    commandComplete("SELECT 1"),
    message("D", "a row of some length"),
    readyForQuery("T"),
  ]);

  it("are found in a stream however it is cut, and those that are passed on come in pieces", () => {
    for (let size = 1; size <= all.length; size += 1) {
      const reader = new MessageReader("D");
      const whole: string[] = [];
      const row: Buffer[] = [];
      let rows = 0;
      const sink = {
        message: (type: string, bytes: Buffer) => whole.push(`${type}${bytes.length}`),
        piece: (_type: string, bytes: Buffer, isLast: boolean) => {
          row.push(bytes);
          if (isLast) rows += 1;
        },
      };
      for (let at = 0; at < all.length; at += size) reader.push(all.subarray(at, at + size), sink);
      assert.deepEqual([whole, rows, reader.rest.length], [["C14", "Z6"], 1, 0], `pieces of ${size}`);
      assert.deepEqual(Buffer.concat(row), message("D", "a row of some length"));
    }
  });

  it("of impossible or excessive length are refused", () => {
    const sink = { message: () => undefined, piece: () => undefined };
    for (const length of [0, 3, 0x7fffffff]) {
      const head = Buffer.from([81, 0, 0, 0, 0]);
      head.writeUInt32BE(length, 1);
      assert.throws(() => new MessageReader("").push(head, sink), /a message/);
    }
  });

  it("tell an error with its state and hint", () => {
    const fields = errorFields(errorResponse({ state: "0A000", message: "no", hint: "leave it" }));
    assert.deepEqual(
      [fields["C"], fields["M"], fields["H"], fields["S"]],
      ["0A000", "no", "leave it", "ERROR"],
    );
  });
});

describe("the first words of a client", () => {
  function packet(code: number, ...words: readonly string[]): Buffer {
    const content = Buffer.from(words.map((word) => `${word}\0`).join(""));
    const head = Buffer.alloc(8);
    head.writeUInt32BE(content.length + 8, 0);
    head.writeUInt32BE(code, 4);
    return Buffer.concat([head, content]);
  }

  /** What is answered to first words, and what they turn out to be. */
  function heard(...packets: readonly Buffer[]) {
    const words = new FirstWords();
    const answers: Buffer[] = [];
    const all = packets.map((bytes) => words.take(bytes, (answer) => answers.push(Buffer.from(answer))));
    return { wish: all.at(-1), answered: Buffer.concat(answers) };
  }
  const session = packet(196608, "user", "u", "database", "d", "");

  it("ask for encryption, a cancel or a session, which needs a password", () => {
    assert.deepEqual(heard(packet(80877103)), { wish: undefined, answered: Buffer.from("N") });
    assert.equal(heard(packet(80877103).subarray(0, 7)).answered.length, 0);
    const parameters = new Map([
      ["user", "u"],
      ["database", "d"],
    ]);
    const password = message("p", "key");
    const rest = message("Q", "SELECT 1");
    const wish = { asks: "session", parameters, password: "key" };
    assert.deepEqual(heard(session), { wish: undefined, answered: ASK_PASSWORD });
    assert.deepEqual(heard(session, password).wish, { ...wish, rest: Buffer.alloc(0) });
    const all = Buffer.concat([packet(80877103), session, password, rest]);
    assert.deepEqual(heard(all.subarray(0, 50), all.subarray(50)).wish, { ...wish, rest });
    assert.throws(() => heard(session, rest), /no password/);
    assert.throws(() => heard(packet(131072)), /version 2/);
    assert.throws(() => heard(Buffer.from("GET / HTTP/1.1\r\n")), /no PostgreSQL client/);
  });

  it("are answered with the version that is spoken here, if they ask for another or for unknown options", () => {
    const answer = (version: number, ...options: readonly string[]) =>
      heard(packet(version, ...options.flatMap((name) => [name, "on"]), "")).answered;
    for (const minor of [0, 2]) assert.deepEqual(answer(196608 + minor, "user"), ASK_PASSWORD);
    const asked = (...parts: readonly (Buffer | string)[]) =>
      Buffer.concat([message("v", ...parts), ASK_PASSWORD]);
    assert.deepEqual(answer(196608 + 7), asked(Buffer.from([0, 3, 0, 2, 0, 0, 0, 0])));
    assert.deepEqual(answer(196608, "_pq_.x"), asked(Buffer.from([0, 3, 0, 0, 0, 0, 0, 1]), "_pq_.x"));
  });

  it("may make settings", () => {
    const options = "-c search_path=a\\ b -cstatement_timeout=5 --lock-timeout=7";
    const settings = settingsOf(
      new Map([
        ["user", "u"],
        ["application_name", "x"],
        ["DateStyle", "ISO"],
        ["options", options],
      ]),
    );
    assert.deepEqual(
      [...settings],
      [
        ["DateStyle", "ISO"],
        ["search_path", "a b"],
        ["statement_timeout", "5"],
        ["lock_timeout", "7"],
      ],
    );
  });
});

describe("the statements of a client", () => {
  const does = (sql: string) => clientStatements(sql, "p_").map((each) => each.does);

  it("about transactions are those of the client", () => {
    assert.deepEqual(does("BEGIN; START TRANSACTION READ ONLY; COMMIT; END; ROLLBACK; ABORT AND CHAIN"), [
      ...["begin", "begin", "commit", "commit", "rollback", "rollback"],
    ]);
    assert.deepEqual(does("SAVEPOINT a; RELEASE a; ROLLBACK TO a; ROLLBACK WORK TO SAVEPOINT a"), [
      ...["run", "run", "run", "run"],
    ]);
    assert.deepEqual(
      does("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; UNLISTEN *; DISCARD ALL; RESET ALL"),
      [...["nothing", "nothing", "forget", "forget"]],
    );
  });

  it("that leave a trace outside of the transaction are refused", () => {
    const refused = [
      ...["VACUUM t", "create database x", "CREATE UNIQUE INDEX CONCURRENTLY i ON t (a)", "NOTIFY x"],
      ...['ROLLBACK TO U&"\\0064rydock_1"', "SET standard_conforming_strings = off"],
      ...["COPY (SELECT E'a'\n'\\'') TO PROGRAM 'x'", "COPY t TO '/tmp/x'", "COPY t FROM PROGRAM 'x'"],
      ...["SAVEPOINT drydock_guard", "COMMIT PREPARED 'x'"],
      ...["REINDEX TABLE CONCURRENTLY t", "CREATE TEMPORARY TABLE t (a int)", "SET TRANSACTION SNAPSHOT 'x'"],
    ];
    for (const sql of refused) assert.deepEqual(does(sql), ["refused"], sql);
    for (const sql of [
      "COPY t TO STDOUT",
      "COPY t FROM STDIN",
      "ALTER DATABASE x SET y = 1",
      "SET standard_conforming_strings = on",
      "SELECT 'VACUUM'",
    ])
      assert.deepEqual(does(sql), ["run"], sql);
  });

  it("that prepare others have names of their client's own", () => {
    const sqls = clientStatements(
      'PREPARE A AS SELECT 1; /* x */ EXECUTE "A b"(1); DEALLOCATE PREPARE a',
      "p_",
    );
    assert.deepEqual(
      sqls.map(({ sql }) => sql),
      ['PREPARE "p_a" AS SELECT 1', '/* x */ EXECUTE "p_A b"(1)', 'DEALLOCATE PREPARE "p_a"'],
    );
  });

  it("may have names as long as a server allows, which stay different", () => {
    const long = "n".repeat(60);
    const own = ["a", "b"].map((end) => ownName("p_", `${long}${end}`));
    assert.notEqual(own[0], own[1]);
    assert.ok(own.every((name) => name.startsWith("p_") && name.length < 64));
    assert.deepEqual(
      clientStatements(`DEALLOCATE ${long}a`, "p_").map(({ sql }) => sql),
      [`DEALLOCATE "${own[0]}"`],
    );
  });

  it("are read in time that grows with their length only", () => {
    const comments = "/* a comment */ ".repeat(200);
    const long = `${comments}INSERT INTO t VALUES ('\\x${"ab".repeat(12 << 20)}')`;
    const [statement] = clientStatements(long, "p_");
    assert.ok(statement?.does === "run");
    const work = new Work([]);
    for (const sent of [statement, statement]) work.add(new Executed(sent));
    work.executed[0]?.take("C", commandComplete("INSERT 0 1"));
    // The server skipped the second one, after an error in between.
    const { statements } = work.done(false);
    assert.deepEqual([statements.length, statements[0]?.rows], [1, 1]);
  });

  it("that keep the server from ending the connection mean nothing here", () => {
    for (const sql of ["SET idle_in_transaction_session_timeout = 5", "RESET idle_session_timeout"])
      assert.deepEqual(does(sql), ["nothing"], sql);
  });

  it("tell which settings they make, and for how long", () => {
    const made = (sql: string) =>
      clientStatements(sql, "").flatMap((each) => (each.does === "run" ? each.sets : []));
    assert.deepEqual(made("SET TIME ZONE 'UTC'; SET LOCAL app.who = 'x'; RESET work_mem"), [
      { name: "timezone", isLocal: false },
      { name: "app.who", isLocal: true },
      { name: "work_mem", isLocal: false },
    ]);
    assert.deepEqual(
      made("SELECT pg_catalog.set_config('search_path', '', false), set_config('a.b', $1, true)"),
      [
        { name: "search_path", isLocal: false },
        { name: "a.b", isLocal: true },
      ],
    );
  });
});
