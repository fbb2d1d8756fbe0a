import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { openServices } from "../../src/runtime.ts";
import { mountImage, whyNoImages } from "../support/file-systems.ts";
import { makeSubvolume } from "../support/subvolumes.ts";

describe("A database in a folder on btrfs", { skip: whyNoImages() ?? false }, () => {
  it("[L5] is left out by snapshot and copy_on_write too", async () => {
    using image = mountImage("btrfs");
    const app = join(image.path, "app");
    makeSubvolume(app);
    mkdirSync(join(app, "data"));
    writeFileSync(join(app, "data/notes"), "old\n");
    const file = join(app, "data/people.db");
    const people = (script = "") => {
      using database = new DatabaseSync(file);
      database.exec(script);
      return database
        .prepare("SELECT name FROM people ORDER BY name")
        .all()
        .map(({ name }) => name);
    };
    people("CREATE TABLE people (name TEXT PRIMARY KEY); INSERT INTO people VALUES ('Ada')");
    const drydock = await openServices({
      stateDir: join(image.path, "state"),
      cwd: image.path,
      environment: {},
    });
    try {
      for (const strategy of ["snapshot", "copy_on_write"]) {
        const plan = await drydock.plans.create({
          resources: [{ location: app, strategy }, { location: file }],
        });
        await drydock.plans.sql(plan.id, "people.db", "INSERT INTO people VALUES ('Grace')");
        const inside = await drydock.plans.path(plan.id, "app");
        writeFileSync(join(inside, "data/notes"), `${strategy}\n`);
        for (const suffix of ["", "-wal", "-journal"])
          writeFileSync(join(inside, `data/people.db${suffix}`), "strange");
        const { changes } = await drydock.plans.diff(plan.id);
        assert.deepEqual(
          changes.map(({ resource, path }) => `${resource}: ${path}`),
          ["app: data/notes", "people.db: people/Grace"],
        );
        await drydock.plans.apply(plan.id);
        assert.deepEqual(
          [people(), readFileSync(join(app, "data/notes"), "utf8")],
          [["Ada", "Grace"], `${strategy}\n`],
        );
        await drydock.plans.undo(plan.id);
        assert.deepEqual([people(), readFileSync(join(app, "data/notes"), "utf8")], [["Ada"], "old\n"]);
      }
    } finally {
      await drydock.close();
    }
  });
});
