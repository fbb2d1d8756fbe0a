import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { UsageError } from "../../src/index.ts";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import { removeFolder } from "../support/remove-folder.ts";

/** A folder with a folder, a file and a database in it, and a state directory. */
class Site implements AsyncDisposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "drydock-containment-")));
  readonly #open: Services[] = [];

  constructor() {
    for (const folder of ["app/data", "app/src", "other"])
      mkdirSync(join(this.path, folder), { recursive: true });
    for (const file of ["app/readme", "app/src/main", "app/data/notes"]) this.write(file, `old ${file}\n`);
    this.sql("CREATE TABLE people (name TEXT PRIMARY KEY); INSERT INTO people VALUES ('Ada')");
  }

  write(path: string, text: string): string {
    writeFileSync(join(this.path, path), text);
    return join(this.path, path);
  }

  text(path: string): string {
    return readFileSync(join(this.path, path), "utf8");
  }

  sql(script: string): void {
    using database = new DatabaseSync(join(this.path, "app/data/people.db"));
    database.exec(script);
  }

  people(file = "app/data/people.db"): readonly unknown[] {
    using database = new DatabaseSync(join(this.path, file));
    return database
      .prepare("SELECT name FROM people ORDER BY name")
      .all()
      .map(({ name }) => name);
  }

  async open(config?: object): Promise<Services> {
    const file = config === undefined ? {} : { config: this.write("drydock.yaml", JSON.stringify(config)) };
    const drydock = await openServices({
      stateDir: join(this.path, "state"),
      cwd: this.path,
      environment: process.env,
      ...file,
    });
    this.#open.push(drydock);
    return drydock;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const drydock of this.#open) await drydock.close();
    removeFolder(this.path);
  }
}

const FOLDERS = ["overlay", "filesystem_copy"] as const;

describe("A resource inside of another", () => {
  for (const strategy of FOLDERS)
    it(`[L5] shares the sandbox of the folder around it (${strategy}), and lands with it`, async () => {
      await using site = new Site();
      const { plans, sandboxes } = await site.open();
      const plan = await plans.create({
        resources: [
          { location: "app/src" },
          { location: "app", strategy },
          { location: "app/src/main", name: "main" },
        ],
      });
      assert.deepEqual(
        plan.resources.map(({ name, parent, sharesSandboxOf, strategy: chosen }) => [
          name,
          parent,
          sharesSandboxOf,
          chosen,
        ]),
        [
          ["src", "app", "app", strategy],
          ["app", undefined, undefined, strategy],
          ["main", "src", "app", strategy],
        ],
      );
      assert.match(plan.resources[0]?.why ?? "", /inside of app, whose sandbox it shares/);
      const ids = await Promise.all(
        ["src", "app", "main"].map(
          async (name) => (await sandboxes.getOrCreate(plan.id, name)).ref.sandboxId,
        ),
      );
      assert.equal(new Set(ids).size, 1);
      await plans.write(plan.id, "src", "added", Buffer.from("by its folder\n"));
      await plans.write(plan.id, "main", ".", Buffer.from("by itself\n"));
      assert.equal(Buffer.from(await plans.read(plan.id, "app", "src/main")).toString(), "by itself\n");
      assert.equal(Buffer.from(await plans.read(plan.id, "src", "main")).toString(), "by itself\n");
      if (strategy === "filesystem_copy")
        assert.equal(await plans.path(plan.id, "src"), join(await plans.path(plan.id, "app"), "src"));
      const { changes } = await plans.diff(plan.id);
      assert.deepEqual(
        changes.map(({ resource, path }) => `${resource}: ${path}`),
        ["app: src/added", "app: src/main"],
      );
      const { participants } = await plans.apply(plan.id);
      assert.deepEqual(
        participants.map(({ resource }) => resource),
        ["app"],
      );
      assert.deepEqual(
        [site.text("app/src/added"), site.text("app/src/main")],
        ["by its folder\n", "by itself\n"],
      );
      await plans.undo(plan.id);
      assert.equal(site.text("app/src/main"), "old app/src/main\n");
    });

  it("[X1] can't be left by a path", async () => {
    await using site = new Site();
    const { plans } = await site.open();
    const plan = await plans.create({ resources: [{ location: "app" }, { location: "app/src" }] });
    for (const path of ["../readme", "/etc/passwd", "a/../../readme"])
      await assert.rejects(plans.write(plan.id, "src", path, Buffer.from("x")), { code: "BAD_PATH" });
  });

  for (const [why, resources, config, message] of [
    ["it is the same one", [{ location: "app" }, { location: "app", name: "again" }], undefined, /are both/],
    [
      "it is to have another strategy",
      [{ location: "app" }, { location: "app/src", strategy: "filesystem_copy" }],
      undefined,
      /shares its sandbox/,
    ],
    [
      "nothing is inside of its type",
      [{ location: "app" }, { location: "app/src", type: "fs-mount" }],
      undefined,
      /a fs-mount can't be inside of a fs-directory/,
    ],
    [
      "its type says so",
      [{ location: "app", type: "closed" }, { location: "app/src" }],
      { resource_types: { closed: { extends: "fs-directory", child_types: ["fs-file"] } } },
      /a fs-directory can't be inside of a closed/,
    ],
    [
      "its type can't be alone",
      [{ location: "app/src", type: "part" }],
      { resource_types: { part: { extends: "fs-directory", capabilities: ["read", "write"] } } },
      /can't have a sandbox of its own/,
    ],
    [
      "the config names another parent",
      [{ location: "child" }, { location: "wrong" }],
      { resources: { child: { location: "./app/src", parent: "wrong" }, wrong: { location: "./other" } } },
      /is not inside of .*other, though the config names that/,
    ],
  ] as const)
    it(`[L5] [L8] is refused with the reason if ${why}`, async () => {
      await using site = new Site();
      const { plans } = await site.open(config);
      await assert.rejects(plans.create({ resources: [...resources] }), (error: unknown) => {
        assert.ok(error instanceof UsageError);
        assert.match(error.message, message);
        return true;
      });
      assert.deepEqual(await plans.list({ all: true }), []);
    });
});

describe("A database inside of a folder", () => {
  for (const strategy of FOLDERS)
    it(`[L5] [A6] has a sandbox of its own, which the folder (${strategy}) leaves out, and lands before it`, async () => {
      await using site = new Site();
      const { plans } = await site.open();
      const plan = await plans.create({
        resources: [{ location: "app", strategy }, { location: "app/data/people.db" }],
      });
      assert.deepEqual(
        plan.resources.map(({ name, parent, sharesSandboxOf }) => [name, parent, sharesSandboxOf]),
        [
          ["app", undefined, undefined],
          ["people.db", "app", undefined],
        ],
      );
      await plans.sql(plan.id, "people.db", "INSERT INTO people VALUES ('Grace')");
      await plans.write(plan.id, "app", "data/notes", Buffer.from("new\n"));
      await assert.rejects(plans.write(plan.id, "app", "data/people.db", Buffer.from("x")), {
        code: "LEFT_OUT",
      });
      await assert.rejects(plans.read(plan.id, "app", "data/people.db-wal"), { code: "LEFT_OUT" });
      // What programs do at its place in the folder's sandbox is not the plan's work.
      writeFileSync(join(await plans.path(plan.id, "app"), "data/people.db"), "not a database");
      const { changes } = await plans.diff(plan.id);
      assert.deepEqual(
        changes.map(({ resource, path }) => [resource, path]),
        [
          ["app", "data/notes"],
          ["people.db", "people/Grace"],
        ],
      );
      const { participants } = await plans.apply(plan.id);
      assert.deepEqual(
        participants.map(({ resource }) => resource),
        ["people.db", "app"],
      );
      assert.deepEqual([site.people(), site.text("app/data/notes")], [["Ada", "Grace"], "new\n"]);
      await plans.undo(plan.id);
      assert.deepEqual([site.people(), site.text("app/data/notes")], [["Ada"], "old app/data/notes\n"]);
    });

  for (const strategy of FOLDERS)
    it(`[A1] [A3] is not taken along when its folder is removed in the sandbox (${strategy}): that does not land`, async () => {
      await using site = new Site();
      const { plans } = await site.open();
      const plan = await plans.create({
        resources: [{ location: "app", strategy }, { location: "app/data/people.db" }],
      });
      removeFolder(join(await plans.path(plan.id, "app"), "data"));
      const refused = /data would be removed or replaced, but data\/people\.db is in it/;
      await assert.rejects(plans.apply(plan.id), refused);
      // Only what would land counts.
      await plans.write(plan.id, "app", "readme", Buffer.from("new\n"));
      await assert.rejects(plans.apply(plan.id, { only: ["app:data"] }), refused);
      await plans.apply(plan.id, { only: ["app:readme"] });
      assert.deepEqual([site.people(), site.text("app/readme")], [["Ada"], "new\n"]);
    });

  it("[S5] makes a strategy that can't leave it out be passed over, with the reason", async () => {
    await using site = new Site();
    const { plans } = await site.open();
    await assert.rejects(
      plans.create({
        resources: [{ location: "app", strategy: "none" }, { location: "app/data/people.db" }],
        allowIrreversible: true,
      }),
      /it can't leave out data\/people\.db, which does not belong to it/,
    );
  });

  for (const strategy of FOLDERS)
    it(`[L5] is what commands inside find at its path (${strategy})`, async () => {
      await using site = new Site();
      const { plans, exec } = await site.open();
      const plan = await plans.create({
        resources: [{ location: "app", strategy }, { location: "app/data/people.db" }],
      });
      const script = `
        const { DatabaseSync } = require("node:sqlite");
        const { appendFileSync } = require("node:fs");
        const database = new DatabaseSync("${site.path}/app/data/people.db");
        database.exec("PRAGMA journal_mode = WAL; INSERT INTO people VALUES ('Joan')");
        appendFileSync("${site.path}/app/data/notes", "from inside\\n");`;
      const { exitCode } = await exec(plan.id, { command: [process.execPath, "-e", script] });
      assert.equal(exitCode, 0);
      assert.deepEqual(site.people(), ["Ada"], "the original is untouched");
      const { changes } = await plans.diff(plan.id);
      assert.deepEqual(
        changes.map(({ resource, path }) => [resource, path]),
        [
          ["app", "data/notes"],
          ["people.db", "people/Joan"],
        ],
      );
      await plans.apply(plan.id);
      assert.deepEqual(
        [site.people(), site.text("app/data/notes")],
        [["Ada", "Joan"], "old app/data/notes\nfrom inside\n"],
      );
    });
});

describe("What a type of resource allows", () => {
  const TYPES = {
    resource_types: {
      frozen: { extends: "fs-directory", capabilities: ["read", "sandbox", "checkpoint"] },
      secret: { extends: "fs-directory", capabilities: ["write", "sandbox"] },
      copied: { extends: "fs-directory", strategies: ["filesystem_copy"] },
      part: { extends: "fs-directory", capabilities: ["read"] },
    },
  };

  it("[L4] is enforced: what can't be written does not land, by whatever way it was changed", async () => {
    await using site = new Site();
    const { plans } = await site.open(TYPES);
    const plan = await plans.create({
      resources: [{ location: "app", type: "frozen", strategy: "filesystem_copy" }],
    });
    await assert.rejects(plans.write(plan.id, "app", "readme", Buffer.from("x")), { code: "NOT_ALLOWED" });
    writeFileSync(join(await plans.path(plan.id, "app"), "readme"), "x");
    // It was so when the plan was made, whatever the config says now.
    const later = await site.open({});
    await assert.rejects(
      later.plans.apply(plan.id),
      /app can't be changed, because its type frozen does not allow it: readme/,
    );
    assert.equal(site.text("app/readme"), "old app/readme\n");
  });

  it("[L5] counts for what is inside of a folder that allows more", async () => {
    await using site = new Site();
    const { plans } = await site.open(TYPES);
    const plan = await plans.create({
      resources: [{ location: "app" }, { location: "app/src", type: "part" }],
    });
    await plans.write(plan.id, "app", "src/main", Buffer.from("x"));
    await assert.rejects(plans.apply(plan.id), /src can't be changed/);
    // Of a part only what is in it counts, and with a folder all that comes with it.
    await plans.write(plan.id, "app", "readme", Buffer.from("part\n"));
    for (const only of ["src", "app:src/*", "**/main", "."])
      await assert.rejects(plans.apply(plan.id, { only: ["readme", only] }), /src can't be changed/);
    assert.equal(site.text("app/readme"), "old app/readme\n");
    assert.equal((await plans.apply(plan.id, { only: ["app:readme"] })).state, "open");
    assert.equal(site.text("app/readme"), "part\n");
    await plans.rollback(plan.id);
    await plans.write(plan.id, "app", "readme", Buffer.from("new\n"));
    assert.equal((await plans.apply(plan.id)).state, "applied");
  });

  it("[X4] has to be known: a misspelled type gets the nearest suggested", async () => {
    await using site = new Site();
    const { plans } = await site.open(TYPES);
    await assert.rejects(plans.create({ resources: [{ location: "app", type: "fs-directroy" }] }), {
      code: "NO_STRATEGY",
      hint: /^Did you mean fs-directory\?/,
    });
  });

  it("[S5] is enforced: reading, checkpoints, strategies", async () => {
    await using site = new Site();
    const { plans, checkpoints } = await site.open(TYPES);
    const plan = await plans.create({ resources: [{ location: "app", type: "secret" }] });
    await assert.rejects(plans.read(plan.id, "app", "readme"), { code: "NOT_ALLOWED" });
    await assert.rejects(checkpoints.checkpoint(plan.id), /its type does not allow it/);
    const copied = await plans.create({ resources: [{ location: "other", type: "copied" }] });
    assert.equal(copied.resources[0]?.strategy, "filesystem_copy");
    assert.match(copied.resources[0]?.why ?? "", /overlay: the type copied allows only filesystem_copy/);
    await assert.rejects(
      plans.create({ resources: [{ location: "other", type: "copied", strategy: "overlay" }] }),
      /overlay does not work for other: the type copied allows only filesystem_copy/,
    );
  });
});
