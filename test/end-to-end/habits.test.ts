import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { ACTORS, Stage } from "../run/stage.ts";
import { assertRefused, Workplace } from "./workplace.ts";

describe("'plan diff'", () => {
  it("[V14] at a terminal shows every form in the user's pager, and prints at once where there is none", async () => {
    using stage = new Stage("root");
    stage.write("project/lib/a.txt", "a line with 19 in it\n");
    stage.done("plan", "create", "--name", "fix", "-r", stage.project);
    const write = ["plan", "write", "fix", "project"];
    stage.drydock([...write, "lib/a.txt"], { input: "a line with 07 in it\n" });
    const said = async (script: string) => (await stage.terminal(script).ended()).stdout;

    const paged = await said(
      `export PAGER='sed s/^/paged:/' DRYDOCK_PAGER='sed s/^/mine:/'
      for how in '' --stat --summary --name-only -p; do "$DRYDOCK" plan diff $how; done
      "$DRYDOCK" plan exec fix -- sh -c 'echo note > ~/outside.txt'; "$DRYDOCK" plan scratch diff
      unset DRYDOCK_PAGER; "$DRYDOCK" diff --name-only`,
    );
    assert.match(paged, /mine:.*M.* project\/lib\/a\.txt/);
    assert.match(paged, /mine: project\/lib\/a\.txt \| 2/);
    assert.match(paged, /mine:project\/lib +.*1.*1 file/);
    assert.match(paged, /mine:.*-a line with .\[7m19.\[27m in it/);
    assert.match(paged, /mine:.*\+note/);
    assert.match(paged, /^paged:project\/lib\/a\.txt\r$/m);

    const plain = await said(
      `"$DRYDOCK" diff --name-only --no-pager; DRYDOCK_PAGER= PAGER=false "$DRYDOCK" diff --name-only
      CI=1 PAGER=false "$DRYDOCK" diff --name-only; PAGER=no-such-pager "$DRYDOCK" diff --name-only
      PAGER='sed s/^/paged:/' "$DRYDOCK" diff --name-only | cat`,
    );
    assert.equal(plain.match(/^project\/lib\/a\.txt\r$/gm)?.length, 5, plain);
    assert.match(plain, /There is no pager 'no-such-pager'/);

    const { folders, changes, digest } = stage.answer("plan", "diff", "--summary");
    assert.equal(changes, undefined);
    assert.equal(digest, stage.answer("plan", "diff").digest);
    const counts = { added: 0, modified: 1, deleted: 0, insertions: 1, deletions: 1, kinds: { file: 1 } };
    assert.deepEqual(folders, [
      { resource: "project", path: ".", ...counts },
      { resource: "project", path: "lib", ...counts },
    ]);
  });
});

describe("undo without a plan", () => {
  it("means the last plan that landed here, and names it where it can't ask", () => {
    using place = new Workplace();
    const [app, other] = ["app", "other"].map((name) =>
      place.folder(name, { "a.txt": "one\n", "deep/b.txt": "b\n" }),
    );
    const land = (name: string, folder: string | undefined, text: string) => {
      place.done("plan", "create", "-r", folder ?? "", "--name", name);
      place.drydock(["plan", "write", name, folder === app ? "app" : "other", "a.txt"], { input: text });
      return place.answer("plan", "apply", name).planId;
    };
    land("first", app, "two\n");
    const second = land("second", app, "three\n");
    land("elsewhere", other, "else\n");
    // A plan without changes is not what a user wants back; by its name it can be undone all the same.
    place.done("plan", "create", "-r", app ?? "", "--name", "empty");
    place.done("plan", "apply", "empty");
    const deep = join(app ?? "", "deep");
    assertRefused(
      place.drydock(["undo"], { cwd: deep }),
      2,
      /The last one that landed here is plan second \(\w{26}\), which landed at/,
      new RegExp(`drydock undo ${second}', or answer yes with -y`),
    );
    assert.equal(place.read("app/a.txt"), "three\n");
    assert.equal(place.drydock(["undo", "-y"], { cwd: deep }).status, 0);
    assert.equal(place.read("app/a.txt"), "two\n");
    assert.equal(place.drydock(["plan", "undo", "-y"], { cwd: app ?? "" }).status, 0);
    assert.equal(place.read("app/a.txt"), "one\n");
    assert.equal(place.read("other/a.txt"), "else\n");
    assertRefused(
      place.drydock(["undo", "-y"], { cwd: deep }),
      2,
      /No plan has landed in .*deep, or all were undone/,
    );
    assert.equal(place.drydock(["undo", "-y"], { cwd: place.path }).status, 0, "a folder around it counts");
    assert.equal(place.read("other/a.txt"), "one\n");
    assert.match(place.done("plan", "undo", "empty"), /^Undid plan \w{26}: 0 changes taken back/);
  });

  for (const actor of ACTORS) {
    it(`asks at a terminal, by ${actor}`, async () => {
      using stage = new Stage(actor);
      assert.equal(stage.drydock(["run", "--apply", "sh", "-c", "echo 2 > a.txt"]).status, 0);
      for (const [answer, text] of [
        ["n", "2\n"],
        ["y", "one\n"],
      ] as const) {
        const terminal = stage.terminal('"$DRYDOCK" undo');
        await terminal.until(() => terminal.stdout.includes("Undo plan project-"));
        terminal.input(`${answer}\n`);
        assert.equal((await terminal.ended()).status, 0);
        assert.equal(stage.read("project/a.txt"), text);
      }
    });
  }

  it("[A3] names the plans that landed later where an undo can't work before theirs", () => {
    using place = new Workplace();
    place.folder("app", { "a.txt": "one\n", "b.txt": "b\n" });
    place.folder("other", { "a.txt": "one\n" });
    const land = (name: string, folder: string, path: string) => {
      place.done("plan", "create", "-r", folder, "--name", name);
      place.drydock(["plan", "write", name, folder, path], { input: `${name}\n` });
      return place.answer("plan", "apply", name).planId;
    };
    land("first", "app", "a.txt");
    const second = land("second", "app", "a.txt");
    land("elsewhere", "other", "a.txt");
    const refused = place.drydock(["undo", "first"]);
    assertRefused(
      refused,
      3,
      new RegExp(`Landed there later: second \\(${second}\\)\\.$`),
      /Undo second first: 'drydock undo/,
    );
    const { error } = JSON.parse(place.drydock(["undo", "first", "--json"]).stdout);
    assert.deepEqual(error.details.later, [{ planId: second, name: "second" }]);
    place.done("undo", "second");
    place.done("undo", "first");
    assert.equal(place.read("app/a.txt"), "one\n");
  });
});

describe("names and labels of plans", () => {
  it("gives no two open plans one name, also where two processes try at once", async () => {
    using place = new Workplace();
    place.folder("app", { "a.txt": "one\n" });
    const create = ["plan", "create", "-r", "app", "--name", "fix"];
    const both = await Promise.all([1, 2, 3].map(() => place.start(create).ended()));
    assert.deepEqual(both.map(({ status }) => status).sort(), [0, 2, 2]);
    const lost = both.filter(({ status }) => status === 2);
    for (const each of lost)
      assertRefused(each, 2, /There already is an open plan 'fix' \(\w{26}\)/, /another --name/);
    assertRefused(
      place.drydock(["run", "--name", "fix", "true"], { cwd: join(place.path, "app") }),
      2,
      /already is an open plan/,
    );
    assert.equal(place.answer("list").plans.length, 1);
    place.done("plan", "cancel", "fix");
    place.done(...create);
  });

  it("finds plans by their labels", () => {
    using place = new Workplace();
    place.folder("app", { "a.txt": "one\n" });
    const labelled = (...labels: readonly string[]) =>
      place.done("plan", "create", "-r", "app", ...labels.flatMap((label) => ["--label", label])).trim();
    const [one, two] = [labelled("agent=7", "task=a=b"), labelled("agent=8")];
    const three = labelled();
    const found = (...labels: readonly string[]) =>
      place
        .answer("list", ...labels.flatMap((label) => ["--label", label]))
        .plans.map(({ id }: { id: string }) => id);
    assert.deepEqual(found("agent"), [two, one]);
    assert.deepEqual(found("agent=7"), [one]);
    assert.deepEqual(found("agent", "task=a=b"), [one]);
    assert.deepEqual(found("task=a"), []);
    assert.deepEqual(found("constructor"), []);
    // A page of the newest is full of what was asked for, however many others are in between.
    const ids = (...options: readonly string[]) =>
      place.answer("list", ...options).plans.map(({ id }: { id: string }) => id);
    assert.deepEqual(ids("--limit", "1"), [three]);
    assert.deepEqual(ids("--all", "--limit", "9"), [three, two, one]);
    assert.deepEqual(ids("--limit", "1", "--label", "agent=7"), [one]);
    assertRefused(place.drydock(["list", "--limit", "0"]), 2, /is not a number of plans/, /--limit 20/);
    assert.deepEqual(place.answer("status", one).labels, { agent: "7", task: "a=b" });
    assert.match(place.done("status", one), /^labels {3}agent=7, task=a=b$/m);
    assert.match(place.done("list"), /LABELS\n/);
    assertRefused(place.drydock(["plan", "create", "--label", "x"]), 2, /has no value/, /KEY=VALUE/);
    assertRefused(place.drydock(["plan", "create", "-r", "app", "--label", "a b=1"]), 2, /is not a word/);
    const ran = place.drydock(["run", "--label", "agent=9", "--keep", "touch", "new"], {
      cwd: join(place.path, "app"),
    });
    assert.equal(ran.status, 0, ran.stderr);
    assert.equal(found("agent=9").length, 1);
  });
});

describe("what people read about their work", () => {
  it("is the path in the resource that was named, also of one inside of another", () => {
    using place = new Workplace();
    place.folder("app", { "src/a.txt": "one\n" });
    place.done("plan", "create", "-r", "app", "-r", "app/src", "--name", "p");
    const write = (...args: readonly string[]) =>
      place.drydock(["plan", "write", "p", ...args], { input: "two\n" }).stdout;
    assert.equal(write("src", "a.txt"), "M  src/a.txt  4 bytes\n");
    assert.equal(JSON.parse(write("src", "deep/b.txt", "--json")).path, "deep/b.txt");
    assert.equal(write("app", "src/a.txt"), "M  app/src/a.txt  4 bytes\n");
  });

  it("is the name of a file in its patch", () => {
    using place = new Workplace();
    place.folder("app", { "notes.txt": "one\n" });
    place.done("plan", "create", "-r", "app/notes.txt", "--name", "p");
    place.drydock(["plan", "write", "p", "notes.txt", "."], { input: "two\n" });
    const patch = place.done("diff", "p", "-p");
    assert.match(patch, /^diff --git a\/notes\.txt b\/notes\.txt\n/);
    const applied = place.run("git", ["apply", "-p1", "-"], { cwd: join(place.path, "app"), input: patch });
    assert.deepEqual([applied.status, place.read("app/notes.txt")], [0, "two\n"], applied.stderr);
  });

  it("is that changes made in place stay, whatever is discarded", () => {
    using place = new Workplace();
    const app = place.folder("app", { "a.txt": "one\n" });
    const ended = place.drydock(
      [
        "run",
        "-r",
        `${app},strategy=none`,
        "--allow-irreversible",
        "--discard",
        "sh",
        "-c",
        "echo 2 > a.txt",
      ],
      { cwd: app },
    );
    assert.match(
      ended.stderr,
      /^Discarded, but for the changes of app: they were made in place, and stay\.$/m,
    );
    assert.equal(place.read("app/a.txt"), "2\n");
  });

  it("is how many rows a statement changed, and nothing of a table that it made", () => {
    using place = new Workplace();
    const file = join(place.path, "data.db");
    using database = new DatabaseSync(file);
    database.exec("CREATE TABLE t (v)");
    place.done("plan", "create", "-r", file, "--name", "p");
    const said = place.done(
      "plan",
      "sql",
      "p",
      "data.db",
      "-c",
      "INSERT INTO t VALUES (1); CREATE TABLE u (v); DELETE FROM t",
    );
    assert.equal(said, "1 row changed\n\n1 row changed\n");
  });

  it("is not a change in the history of a plan if a statement only reads", () => {
    using place = new Workplace();
    const file = join(place.path, "data.db");
    using database = new DatabaseSync(file);
    database.exec("CREATE TABLE t (v)");
    place.done("plan", "create", "-r", file, "--name", "p");
    const changes = () =>
      place.answer("plan", "log", "p").entries.filter(({ event }: { event: string }) => event === "changed");
    place.done("plan", "sql", "p", "data.db", "-c", "SELECT * FROM t; PRAGMA table_info(t)");
    assert.deepEqual(changes(), []);
    place.done("plan", "sql", "p", "data.db", "-c", "CREATE TABLE u (v)");
    assert.equal(changes().length, 1);
  });
});
