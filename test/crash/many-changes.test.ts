import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Workplace } from "../end-to-end/workplace.ts";

/** So many, with names so long, that a comparison does not keep all of them in memory (row-store.ts). */
const FILES = 6000;
const NAME_LENGTH = 200;

describe("Drydock is killed while it compares more than it keeps in memory", () => {
  for (const point of ["rows.make", "rows.write"])
    it(`[A1] at ${point}: nothing has landed, nothing is left behind, and all of it lands later`, () => {
      using place = new Workplace();
      place.folder("app", { file: "old\n" });
      const id = place.done("plan", "create", "-r", "app=app,strategy=filesystem_copy").trim();
      const sandbox = place.done("plan", "path", id).trim();
      for (let at = 0; at < FILES; at += 1)
        writeFileSync(join(sandbox, String(at).padStart(NAME_LENGTH, "0")), "");
      const killed = place.drydock(["plan", "apply", id], { env: { DRYDOCK_FAILPOINT: `${point}=kill` } });
      assert.equal(killed.status, null, "it was not killed");
      assert.deepEqual(Object.keys(place.tree("app")), ["file"]);
      assert.equal(place.drydock(["plan", "apply", id]).status, 0);
      assert.equal(readdirSync(join(place.path, "app")).length, FILES + 1);
      assert.deepEqual(place.answer("cleanup", "scan").items, []);
    });
});
