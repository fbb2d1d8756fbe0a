import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { BUILT_IN_RESOURCE_TYPES } from "../../src/core/resource/resource.ts";
import { assertRefused, Workplace } from "../end-to-end/workplace.ts";

/** A strategy in plain JavaScript that imports nothing of Drydock's. */
const SHELF = `import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
export class Shelf {
  name = "shelf";
  version = "1";
  capabilities = { commit: "one-phase", resourceTypes: ["note"] };
  constructor(context) { this.context = context; }
  async create(planId, resource) {
    const sandboxId = planId + "-" + resource.id;
    const folder = join(this.context.stateDir, "shelves", sandboxId);
    const metadata = { folder, original: resource.location, path: join(folder, "work") };
    const ref = { sandboxId, planId, resourceId: resource.id, strategyName: "shelf", metadata };
    await this.context.recordIntent(ref, [{ kind: "folder", location: folder }]);
    mkdirSync(folder, { recursive: true });
    for (const name of ["base", "work"]) cpSync(resource.location, join(folder, name));
    return ref;
  }
  async read(ref) { return readFileSync(ref.metadata.path); }
  async write(ref, path, bytes) { writeFileSync(ref.metadata.path, bytes); return { path, operation: "modified", kind: "file" }; }
  async diff(ref) {
    const same = readFileSync(join(ref.metadata.folder, "base")).equals(readFileSync(ref.metadata.path));
    return { changes: same ? [] : [{ path: ".", operation: "modified", kind: "file" }] };
  }
  async commit(ref, { message }) {
    cpSync(ref.metadata.path, ref.metadata.original);
    if (message) writeFileSync(ref.metadata.original + ".message", message);
  }
  async rollback(ref) { cpSync(join(ref.metadata.folder, "base"), ref.metadata.path); }
  async checkpoint(ref, id) { cpSync(ref.metadata.path, join(ref.metadata.folder, id)); }
  async restoreCheckpoint(ref, id) { cpSync(join(ref.metadata.folder, id), ref.metadata.path); }
  async cleanup(ref) { rmSync(ref.metadata.folder, { recursive: true, force: true }); }
  async path(ref) { return ref.metadata.path; }
  async environment() { return { SHELF: "at work" }; }
}
`;
const CONFIG = `sandbox:
  custom_strategies:
    shelf: { module: ./shelf.mjs, class: Shelf }
resource_types:
  note: { extends: fs-file, sandbox_strategy: shelf, child_types: [], capabilities: [read, write, sandbox] }
`;

function workplace(): Workplace {
  const place = new Workplace();
  place.write("shelf.mjs", SHELF);
  place.write("drydock.yaml", CONFIG);
  place.write("todo", "old\n");
  place.done("trust", "drydock.yaml");
  return place;
}

describe("Strategies and types of one's own on the command line", () => {
  it("[S3] [S5] [A16] are used by plans and commands, as the config says, and that is shown", () => {
    using place = workplace();
    const plan = place.answer(
      "plan",
      "create",
      "--name",
      "p",
      "-r",
      "todo,type=note",
      "--allow-irreversible",
    );
    assert.equal(plan.resources[0].why, "named by the type note in the config");
    const ran = place.drydock(["plan", "exec", "p", "--", "sh", "-c", 'echo "$SHELF" > todo']);
    assert.deepEqual([ran.status, place.read("todo")], [0, "old\n"], ran.stderr);
    assert.equal(place.done("plan", "read", "p", "todo", "."), "at work\n");
    assert.equal(place.answer("plan", "apply", "p", "-m", "why").participants[0].strategy, "shelf");
    assert.equal(place.read("todo"), "at work\n");
    assert.equal(place.read("todo.message"), "why", "a one-phase strategy gets the message");
  });

  it("[S3] [X6] are named by their module and class where they are used, with the trust of the config", () => {
    using place = workplace();
    place.write(
      "drydock.yaml",
      `resource_types:
  note: { extends: fs-file, sandbox_strategy: "./shelf.mjs:Shelf" }
resources:
  todo: { location: ./todo, type: note }
  other: { location: ./todo, type: note, strategy: "./shelf.mjs:Shelf" }
`,
    );
    assert.match(place.done("trust", "drydock.yaml"), /\n {2}\/.*shelf\.mjs\n/);
    const name = `${place.path}/shelf.mjs:Shelf`;
    for (const resource of ["todo", "other", "todo,type=note,strategy=./shelf.mjs:Shelf"]) {
      const plan = place.answer("plan", "create", "-r", resource, "--allow-irreversible");
      assert.equal(plan.resources[0].strategy, name);
      place.drydock(["plan", "write", plan.id, plan.resources[0].name, "."], { input: `${resource}\n` });
      place.done("plan", "apply", plan.id);
      assert.equal(place.read("todo"), `${resource}\n`);
    }
    assertRefused(
      place.drydock(["plan", "create", "-r", "todo,strategy=./unknown.mjs:Shelf"]),
      2,
      /There is no strategy called '.*unknown\.mjs:Shelf'/,
      /has to be named in drydock\.yaml too/,
    );
    place.write("drydock.yaml", 'resources: { x: { location: ./todo, strategy: "./shelf.mjs:Shel" } }\n');
    place.done("trust", "drydock.yaml");
    assertRefused(
      place.drydock(["plan", "create", "-r", "x"]),
      2,
      /drydock\.yaml:1:\d+: strategy .*shelf\.mjs exports no Shel/,
      /Did you mean Shelf\?/,
    );
  });

  it("[S5] [L5] says that the strategy of a type does not count inside of another resource", () => {
    using place = workplace();
    place.folder("app", { "cache/x": "1\n" });
    const config = place.write(
      "types.yaml",
      "resource_types: { cache: { extends: fs-directory, sandbox_strategy: none } }\n",
    );
    const { resources } = place.answer(
      ...["--config", config, "plan", "create", "-r", "app,strategy=filesystem_copy"],
      ...["-r", "app/cache,type=cache"],
    );
    assert.equal(
      resources[1].why,
      "it is inside of app, whose sandbox it shares; none, named by the type cache in the config, does not count there",
    );
  });

  it("[X6] are not loaded from a config that nobody trusts", () => {
    using place = workplace();
    place.write(
      "shelf.mjs",
      `import { writeFileSync } from "node:fs"; writeFileSync("was-loaded", "");\n${SHELF}`,
    );
    place.write("drydock.yaml", `${CONFIG}# changed\n`);
    const listed = place.drydock(["strategy", "list", "--json"]);
    assert.match(listed.stderr, /^ignoring .*changed since it was trusted/);
    assert.ok(!listed.stdout.includes("shelf"));
    assert.equal(place.drydock(["plan", "create", "-r", "todo,type=note"]).status, 2);
    assert.deepEqual(
      Object.keys(place.tree(".")).filter((name) => name === "was-loaded"),
      [],
    );
  });

  it("[S4] are listed, and what can't be used with the reason and exit code 2", () => {
    using place = workplace();
    const [shelf] = place
      .answer("strategy", "list")
      .strategies.filter(({ builtIn }: { builtIn: boolean }) => !builtIn);
    assert.deepEqual(
      [shelf.name, shelf.version, shelf.commit, shelf.strength],
      ["shelf", "1", "one-phase", 5],
    );
    renameSync(join(place.path, "shelf.mjs"), join(place.path, "gone.mjs"));
    const broken = place.drydock(["strategy", "list", "--json"]);
    assert.equal(broken.status, 2);
    assert.equal(JSON.parse(broken.stdout).unusable[0].code, "STRATEGY_MODULE");
    assert.match(
      place.drydock(["strategy", "list"]).stdout,
      /drydock\.yaml:3:5: strategy shelf: there is no file \.\/shelf\.mjs/,
    );
    assertRefused(
      place.drydock(["plan", "create", "-r", "todo,type=note"]),
      2,
      /strategy shelf: there is no file/,
    );
  });

  it("[A3] that are gone with a command that was killed inside are no reason to refuse anything else", async () => {
    using place = workplace();
    place.done("plan", "create", "--name", "p", "-r", "todo,type=note", "--allow-irreversible");
    const running = place.start(["plan", "exec", "p", "--", "sh", "-c", "echo up; exec sleep 1000"]);
    await running.until(() => running.stdout.includes("up"));
    running.signal("SIGKILL");
    await running.ended();
    renameSync(join(place.path, "shelf.mjs"), join(place.path, "gone.mjs"));
    const listed = place.drydock(["plan", "list", "--json"]);
    assert.equal(listed.status, 0, listed.stderr);
    assert.match(listed.stderr, /^pending: plan p .*: todo could not be left: .*no file \.\/shelf\.mjs\n$/);
    assert.equal(JSON.parse(listed.stdout).plans.length, 1);
  });

  it("[L4] that are gone let a plan be cancelled, with exit code 4 and what is left", () => {
    using place = workplace();
    place.done("plan", "create", "--name", "p", "-r", "todo,type=note", "--allow-irreversible");
    renameSync(join(place.path, "shelf.mjs"), join(place.path, "gone.mjs"));
    assert.match(
      place.done("plan", "show", "p"),
      /note +its strategy can't be used: .*no file \.\/shelf\.mjs/,
    );
    const cancelled = place.drydock(["plan", "cancel", "p"]);
    assert.equal(cancelled.status, 4);
    assert.match(
      cancelled.stdout,
      /^Cancelled plan p .*\nnot removed: the sandbox of todo: .*; left: .*\/shelves\//,
    );
    assert.match(place.done("cleanup", "scan"), /shelves/);
    renameSync(join(place.path, "gone.mjs"), join(place.path, "shelf.mjs"));
    place.done("cleanup", "purge");
    assert.deepEqual(place.answer("cleanup", "scan").items, []);
  });

  it("[S6] resource-type lists and shows types, the built-in ones in the same form, with the schema of one", () => {
    using place = workplace();
    const { types } = place.answer("resource-type", "list");
    assert.deepEqual(
      types.map(({ name }: { name: string }) => name),
      [...BUILT_IN_RESOURCE_TYPES, "note"],
    );
    const { schema, ...note } = place.answer("resource-type", "show", "note");
    assert.deepEqual(note, {
      name: "note",
      builtIn: false,
      extends: "fs-file",
      sandboxStrategy: "shelf",
      strategies: null,
      parentTypes: ["fs-directory", "git-checkout"],
      childTypes: [],
      capabilities: ["read", "write", "sandbox"],
    });
    assert.deepEqual(Object.keys(schema.properties), [
      "extends",
      "sandbox_strategy",
      "strategies",
      "parent_types",
      "child_types",
      "capabilities",
    ]);
    assert.equal(place.answer("resource-type", "show", "fs-mount").extends, "fs-directory");
    assert.match(
      place.done("resource-type", "show", "note"),
      /^note\n {2}extends +fs-file\n(?:.*\n)*.*contains +nothing\n/,
    );
    assert.match(
      place.done("resource-type", "list"),
      /^note +fs-file +shelf +read, write, sandbox +custom$/m,
    );
    assertRefused(
      place.drydock(["resource-type", "show", "fs-moun"]),
      2,
      /no type of resource called 'fs-moun'/,
      /Did you mean fs-mount\?/,
    );
  });

  it("[L5] plan show draws the tree of what is inside of what", () => {
    using place = workplace();
    place.folder("app", { "src/main": "main\n" });
    new DatabaseSync(join(place.path, "app/data.db")).exec("CREATE TABLE t (a)");
    place.done("plan", "create", "--name", "p", "-r", "app/src", "-r", "app", "-r", "app/data.db");
    const shown = place.done("plan", "show", "p");
    const names = shown.split("\n").filter((line) => /^(?:└─ )?(?:app|src|data\.db)$/.test(line));
    assert.deepEqual(names, ["app", "└─ src", "└─ data.db"]);
    assert.match(shown, /^ {5}strategy +\w+: it is inside of app, whose sandbox it shares$/m);
  });
});
