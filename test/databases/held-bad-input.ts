import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { armFailpoints } from "../../src/system/failpoints.ts";
import { OWNER, READER, type TestServer } from "../support/database-servers.ts";
import { HeldScene, leftIn, until } from "./held-scene.ts";

/** What is wrong with the way to a database, or with who wants to use it. */
export function describeBadInput(server: () => TestServer): void {
  describe("[X4] bad input is one clear error each, without the password, and leaves nothing", () => {
    const cases: readonly (readonly [string, () => string, RegExp, string])[] = [
      [
        "a wrong password",
        () => server().url("app", { ...OWNER, password: "wr0ng-pass" }),
        /does not let us in/,
        "NO_ACCESS",
      ],
      [
        "an unknown user",
        () => server().url("app", { user: "nobody-here", password: "wr0ng-pass" }),
        /does not let us in/,
        "NO_ACCESS",
      ],
      ["no such database", () => server().url("nowhere"), /There is no such database|does not let us in/, ""],
      [
        "no server",
        () =>
          server()
            .url()
            .replace(/own(%2Fsocket)?$/, "gone"),
        /can't be reached/,
        "SERVER_DOWN",
      ],
      ["no database in the URL", () => server().url("").replace("app", ""), /names no database/, "BAD_URL"],
      [
        "a password that was cut short",
        () => server().url().replace(encodeURIComponent(OWNER.password), "s3/cret"),
        /can't be read/,
        "BAD_URL",
      ],
    ];
    for (const [what, url, message, code] of cases)
      it(what, async () => {
        await using scene = await HeldScene.make(server());
        const create = scene.with(({ plans }) =>
          plans.create({ name: "p", resources: [{ location: url(), name: "db" }] }),
        );
        const error = await create.then(
          () => assert.fail("it is refused"),
          (thrown: Error & { code: string; hint: string }) => thrown,
        );
        assert.match(error.message, message);
        if (code !== "") assert.equal(error.code, code);
        const said = JSON.stringify([error.message, error.hint, error.stack, String(error.cause)]);
        for (const secret of ["wr0ng", OWNER.password, encodeURIComponent(OWNER.password), "s3/cret"])
          assert.ok(!said.includes(secret), said);
        assert.deepEqual(leftIn(scene.stateDir), []);
        assert.deepEqual(scene.filesWithPassword(), []);
        assert.equal(scene.holder(), undefined);
      });

    for (const [what, url, fails, message] of [
      ["the server lets us in, and a copy fails", () => server().url(), "sqlite.made=error", /EIO/],
      [
        "the copy is made, and the server is gone",
        () => server().url("nowhere"),
        undefined,
        /no such database|not let us/,
      ],
    ] as const)
      it(`[A17] a plan over a server and a file: ${what}`, async () => {
        await using scene = await HeldScene.make(server());
        const file = join(scene.folder, "local.db");
        new DatabaseSync(file).exec("CREATE TABLE kept(a)");
        const resources = [
          { location: file, name: "file" },
          { location: url(), name: "db" },
        ];
        const create = scene.with(async ({ plans }) => {
          armFailpoints(fails);
          return await plans.create({ name: "p", resources }).finally(() => armFailpoints(undefined));
        });
        await assert.rejects(create, message);
        assert.deepEqual(leftIn(scene.stateDir), []);
        assert.deepEqual(readdirSync(join(scene.stateDir, "sandboxes")), []);
        await until(() => scene.holder() === undefined, "the holder has ended");
        assert.deepEqual(await scene.with(({ plans }) => plans.list()), []);
      });

    it("a user who may only read", async () => {
      await using scene = await HeldScene.make(server());
      await scene.with(({ plans }) =>
        plans.create({ name: "p", resources: [{ location: server().url("app", READER), name: "db" }] }),
      );
      assert.equal(await scene.inside(), "1|one 2|two");
      await assert.rejects(scene.run("UPDATE T SET v = 'x'"), { code: "SQL", message: /denied/ });
      assert.equal(await scene.inside(), "1|one 2|two");
    });
  });
}
