import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { assertRefused, Workplace } from "./workplace.ts";

/** A command of each kind: one that looks, works, lands, throws away, recovers, cleans up. */
const COMMANDS: readonly (readonly string[])[] = [
  ["plan", "list"],
  ["plan", "diff", "p"],
  ["plan", "write", "p", "app", "new.txt"],
  ["plan", "apply", "p"],
  ["plan", "cancel", "p"],
  ["recover"],
  ["cleanup", "purge", "--force"],
];

/** A state directory with an open plan, of a folder that is copied. */
class StatePlace extends Workplace {
  constructor() {
    super();
    this.folder("app", { "a.txt": "old\n" });
    this.done("plan", "create", "--name", "p", "-r", "app,strategy=filesystem_copy");
    this.drydock(["plan", "write", "p", "app", "a.txt"], { input: "new\n" });
  }

  get copy(): string {
    return join(this.path, "copy");
  }

  /** The folder of the only sandbox. */
  get sandbox(): string {
    const [name = ""] = readdirSync(join(this.state, "sandboxes"));
    return join(this.state, "sandboxes", name);
  }

  copyState(): void {
    execFileSync("cp", ["-a", this.state, this.copy]);
  }

  /** What is in a folder, as one text: names, and the content of files. */
  content(folder: string): string {
    const hash = createHash("sha256");
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
      const path = join(folder, name);
      hash.update(`${name}\n`).update(statSync(path).isFile() ? readFileSync(path) : "");
    }
    return hash.digest("hex");
  }

  change(sql: string): void {
    const database = new DatabaseSync(join(this.state, "drydock.db"));
    database.exec(sql);
    database.close();
  }
}

describe("a state directory", () => {
  it("[X4] is refused by every command when it is a copy, and neither it nor the original is touched", () => {
    using place = new StatePlace();
    place.copyState();
    const before = [place.content(place.state), place.content(place.copy), place.read("app/a.txt")];
    for (const command of COMMANDS)
      assertRefused(
        place.drydock(command, { env: { DRYDOCK_STATE_DIR: place.copy } }),
        1,
        /copy is a copy of .*\/state; its plans and their sandboxes belong to that one\. Nothing was done\./,
        /Use .*\/state/,
      );
    assert.deepEqual(
      [place.content(place.state), place.content(place.copy), place.read("app/a.txt")],
      before,
    );
    assert.match(place.done("plan", "list"), /\bp\b/);
  });

  it("[X4] says how to go on when it was moved, and works by a link at its old path", () => {
    using place = new StatePlace();
    const elsewhere = join(place.path, "elsewhere");
    renameSync(place.state, elsewhere);
    const env = { DRYDOCK_STATE_DIR: elsewhere };
    assertRefused(
      place.drydock(["plan", "list"], { env }),
      1,
      /elsewhere was moved from .*\/state/,
      /Move it back, or .*: ln -s \S*\/elsewhere \S*\/state/,
    );
    symlinkSync(elsewhere, place.state);
    assert.equal(place.drydock(["plan", "apply", "p"], { env }).status, 0);
    assert.equal(place.read("app/a.txt"), "new\n");
  });

  it("[X4] says how to adopt it when it was restored from a backup", () => {
    using place = new StatePlace();
    place.copyState();
    rmSync(place.state, { recursive: true });
    const env = { DRYDOCK_STATE_DIR: place.copy };
    assertRefused(place.drydock(["plan", "list"], { env }), 1, /is a copy of/, /move the copy to .*\/state,/);
    execFileSync("cp", ["-a", place.copy, place.state]);
    const refused = place.drydock(["plan", "apply", "p"]);
    assertRefused(
      refused,
      1,
      /is not the one that Drydock made there: .*backup/,
      /run 'rm \S+\/identity\.json'/,
    );
    rmSync(join(place.state, "identity.json"));
    place.done("plan", "apply", "p");
    assert.equal(place.read("app/a.txt"), "new\n");
  });

  it("[X4] is refused when it is damaged, and nothing is touched", () => {
    const record = (set: string) => (place: StatePlace) => place.change(`UPDATE plans SET record = ${set}`);
    const damages: readonly (readonly [(place: StatePlace) => void, RegExp])[] = [
      [
        (place) => writeFileSync(join(place.state, "drydock.db"), ""),
        /is damaged: it is empty, and was not before/,
      ],
      [(place) => writeFileSync(join(place.state, "drydock.db"), "garbage"), /is damaged: /],
      [(place) => writeFileSync(join(place.state, "identity.json"), "{"), /identity\.json is damaged/],
      [(place) => place.change("PRAGMA application_id = 7"), /is a database of another program/],
      [(place) => place.change("PRAGMA user_version = 999"), /needs schema version 999/],
      [record("json_remove(record, '$.resources')"), /not as Drydock writes it: resources is no list/],
      [
        record("json_set(record, '$.resources[0].resource.location', 7)"),
        /resources\[0\]\.resource\.location is no text/,
      ],
      [record("json_set(record, '$.state', 'odd')"), /state is "odd"/],
      [(place) => place.change("UPDATE sandboxes SET record = '{}'"), /ref is no object/],
      [(place) => writeFileSync(join(place.sandbox, "sandbox"), "{}"), /The sandbox in .* is incomplete/],
    ];
    for (const [damage, wrong] of damages) {
      using place = new StatePlace();
      damage(place);
      const sandboxes = place.content(join(place.state, "sandboxes"));
      assertRefused(place.drydock(["plan", "apply", "p"]), 1, wrong);
      assert.equal(place.content(join(place.state, "sandboxes")), sandboxes, String(wrong));
      assert.equal(place.read("app/a.txt"), "old\n");
    }
  });
});
