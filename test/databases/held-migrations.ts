import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Services } from "../../src/services.ts";
import { OWNER, type TestServer } from "../support/database-servers.ts";
import { HeldScene, type ServerKind } from "./held-scene.ts";

/**
 * Files as a migration tool writes them; T stands for the table. The schema changes where the server lets it,
 * which is not in MariaDB.
 */
const MIGRATIONS: { readonly [kind in ServerKind]: { readonly [file: string]: string } } = {
  postgres: {
    "0001_email.sql": `CREATE TYPE T_kind AS ENUM ('user', 'guest');
--> statement-breakpoint
ALTER TABLE T ADD COLUMN email text DEFAULT 'none' NOT NULL;--> statement-breakpoint
ALTER TABLE T ADD COLUMN kind T_kind DEFAULT 'user' NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX T_by_v ON T USING btree (v);
`,
    "0002_rows.sql":
      "UPDATE T SET email = v || '@example.com'; INSERT INTO T VALUES (3, 'three', 'three@example.com');\n",
  },
  mariadb: {
    "0001_rows.sql":
      "-- what was said until now\nUPDATE T SET v = CONCAT(v, '@example.com');\n# and more\nINSERT INTO T VALUES (3, 'three@example.com');\n",
    "0002_more.sql": "DELETE FROM T WHERE id = 2 /* it's gone */;\n",
  },
};
const MIGRATED: { readonly [kind in ServerKind]: string } = {
  postgres: "1|one|one@example.com|user 2|two|two@example.com|user 3|three|three@example.com|user",
  mariadb: "1|one@example.com 3|three@example.com",
};
const FAILING: { readonly [kind in ServerKind]: readonly [sql: string, message: RegExp] } = {
  postgres: [
    "ALTER TABLE T ADD COLUMN later int; INSERT INTO T (id) VALUES (1)",
    /statement 2 of 2 failed: duplicate key/,
  ],
  mariadb: [
    "DELETE FROM T; ALTER TABLE T ADD COLUMN later INT",
    /ALTER TABLE can't be run in a plan: .*commit at once/,
  ],
};

/** What migration files do to a server's database, together with code. */
export function describeMigrations(kind: ServerKind, server: () => TestServer): void {
  describe("migration files and a change of code in one plan", () => {
    /**
     * A plan over the table and a folder with the migrations, where the code is changed and the migrations
     * are run.
     */
    async function migrate(
      scene: HeldScene,
      more: { readonly [file: string]: string } = {},
    ): Promise<string> {
      if (kind === "postgres") await scene.rival(`ALTER TABLE T OWNER TO ${OWNER.user}`);
      const code = join(scene.folder, "code");
      mkdirSync(code);
      writeFileSync(join(code, "version"), "1\n");
      await scene.plan([{ location: code, name: "code" }]);
      await scene.with(async ({ plans }) => {
        await plans.write("p", "code", "version", Buffer.from("2\n"));
        for (const [file, sql] of Object.entries({ ...MIGRATIONS[kind], ...more }))
          await runFile(plans, file, sql.replaceAll(/\bT(?=\b|_)/g, scene.table));
      });
      return code;
    }

    /** As `drydock plan sql` does with a file. The file itself becomes part of the code. */
    async function runFile(plans: Services["plans"], file: string, sql: string): Promise<void> {
      await plans.write("p", "code", file, Buffer.from(sql));
      await plans.sql("p", "db", Buffer.from(await plans.read("p", "code", file)).toString());
    }

    const rows = async (scene: HeldScene) =>
      (await server().sql(`SELECT * FROM ${scene.table} ORDER BY id`)).replaceAll("\n", " ");

    it("[T2] land together, with the schema where the server can take that back", async () => {
      await using scene = await HeldScene.make(server());
      const code = await migrate(scene);
      // Who reads the rows waits, where the schema is being changed.
      const columns = `SELECT count(*) FROM information_schema.columns WHERE table_name = '${scene.table}'`;
      assert.equal(await server().sql(columns), "2");
      await scene.with(({ plans }) => plans.apply("p"));
      assert.equal(await rows(scene), MIGRATED[kind]);
      assert.equal(readFileSync(join(code, "version"), "utf8"), "2\n");
      assert.deepEqual(readdirSync(code), [...Object.keys(MIGRATIONS[kind]), "version"]);
    });

    it("[T2][A1] one that fails says which statement and why, and nothing has changed anywhere", async () => {
      await using scene = await HeldScene.make(server());
      const [sql, message] = FAILING[kind];
      await assert.rejects(migrate(scene, { "0003_failing.sql": sql }), { message });
      await scene.with(({ plans }) => plans.cancel("p"));
      assert.equal(await rows(scene), "1|one 2|two");
      assert.deepEqual(readdirSync(join(scene.folder, "code")), ["version"]);
      assert.equal(readFileSync(join(scene.folder, "code", "version"), "utf8"), "1\n");
    });
  });
}
