import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assertRefused, Workplace } from "./workplace.ts";

interface Entry {
  readonly at: string;
  readonly actor: string;
  readonly pid: number;
  readonly event: string;
  readonly details: { readonly [name: string]: unknown };
}

const events = ({ entries }: { readonly entries: readonly Entry[] }) => entries.map(({ event }) => event);

describe("the log of a plan", () => {
  it("[L4][L6][L7] has every step with time, actor and process, also after the plan is over", () => {
    using place = new Workplace();
    place.folder("app", { "README.md": "hello\n" });
    place.done("plan", "create", "-r", "app", "--name", "fix");
    assert.equal(
      place.drydock(["plan", "exec", "fix", "--", "sh", "-c", "echo new > README.md; exit 7"]).status,
      7,
    );
    place.done("plan", "checkpoint", "fix", "--label", "good");
    const { digest } = place.answer("plan", "diff", "fix");
    place.done("plan", "diff", "fix");
    place.done("plan", "restore", "fix", "good");
    place.done("plan", "apply", "fix", "-m", "because", "--digest", digest);
    place.done("plan", "undo", "fix");
    const log = place.answer("plan", "log", "fix");
    assert.deepEqual([log.name, log.state], ["fix", "undone"]);
    assert.deepEqual(events(log), [
      "created",
      "checkpoint",
      "exec started",
      "executed",
      "checkpoint",
      "sealed",
      "restored",
      "applied",
      "undone",
    ]);
    for (const { at, actor, pid } of log.entries as Entry[]) {
      assert.match(at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      assert.match(actor, /^.+@.+$/);
      assert.ok(pid > 0);
    }
    const details = (event: string) => log.entries.findLast((entry: Entry) => entry.event === event).details;
    assert.equal(details("executed").exitCode, 7);
    assert.equal(details("sealed").digest, digest);
    assert.equal(details("checkpoint").label, "good");
    assert.equal(details("applied").message, "because");
    const shown = place.done("plan", "log", "fix");
    assert.match(shown, /^TIME +BY +WHAT\n/);
    assert.match(shown, /executed +sh -c "echo new > README\.md; exit 7".*, exit code 7\n/);
  });

  it("keeps what captured commands write, unless the settings say otherwise", () => {
    using place = new Workplace();
    place.folder("app", {});
    place.done("plan", "create", "-r", "app", "--name", "p");
    const echo = (word: string) => place.done("plan", "exec", "p", "--json", "--", "echo", word);
    echo("told");
    place.write("drydock.yaml", "sandbox: { keep_output: false }\n");
    place.done("trust", "drydock.yaml");
    echo("untold");
    const entries: Entry[] = place.answer("plan", "log", "p").entries;
    const executed = entries.filter(({ event }) => event === "executed");
    assert.deepEqual(
      executed.map(({ details }) => details["output"]),
      ["told\n", undefined],
    );
  });

  it("[L4] has what was cancelled, rolled back, refused, and settled after a crash", () => {
    using place = new Workplace();
    place.folder("app", { "README.md": "hello\n" });
    place.done("plan", "create", "-r", "app,strategy=filesystem_copy", "--name", "fix");
    const path = place.done("plan", "path", "fix").trim();
    writeFileSync(join(path, "README.md"), "new\n");
    place.done("plan", "rollback", "fix");
    writeFileSync(join(path, "README.md"), "newer\n");
    place.done("plan", "checkpoint", "fix", "--label", "good");
    writeFileSync(join(path, "README.md"), "newest\n");
    const env = { DRYDOCK_FAILPOINT: "checkpoint.end-restore=kill" };
    place.drydock(["plan", "restore", "fix", "good"], { env });
    const { stderr } = place.drydock(["plan", "list"]);
    assert.match(stderr, /^recovered: the restore of plan fix \(\S+\) is finished\n$/);
    writeFileSync(join(place.path, "app/README.md"), "rival\n");
    assert.equal(place.drydock(["plan", "apply", "fix"]).status, 3);
    place.done("plan", "cancel", "fix");
    const log = place.answer("plan", "log", "fix");
    const expected = ["created", "rolled back", "checkpoint", "restored", "not applied", "cancelled"];
    assert.deepEqual(events(log), expected);
    assertRefused(place.drydock(["plan", "log", "unknown"]), 2, /There is no plan/);
  });
});

describe("undo records", () => {
  it("[A18] are kept as long as the config says, and the undo is refused with the reason after that", () => {
    using place = new Workplace();
    place.folder("app", { "README.md": "hello\n" });
    place.write("short.yaml", "sandbox: { undo: { keep: 0s } }\n");
    place.done("plan", "create", "-r", "app", "--name", "fix");
    place.shell('echo new | "$DRYDOCK" plan write fix app README.md');
    place.done("plan", "apply", "fix");
    const { undo } = place.answer("plan", "show", "fix");
    assert.ok(Date.parse(undo.until) > Date.now() + 6 * 86_400_000);
    assert.match(place.done("plan", "show", "fix"), /\nundo +possible until \S+Z\n/);
    place.done("plan", "list", "--config", "short.yaml");
    assert.match(
      place.done("plan", "show", "fix"),
      /\nundo +not possible: its undo record is no longer kept\n/,
    );
    assertRefused(
      place.drydock(["plan", "undo", "fix"]),
      1,
      /The plan fix can't be undone: its undo record is no longer kept\. It was applied at \S+Z\./,
      /sandbox\.undo\.keep/,
    );
    assert.equal(place.read("app/README.md"), "new\n");
    assert.deepEqual(Object.keys(place.tree("state/sandboxes")), []);
    assert.equal(place.answer("plan", "log", "fix").entries.at(-1).event, "undo discarded");
  });

  it("[A18] can't be used twice, or on a folder that is gone", () => {
    using place = new Workplace();
    for (const name of ["app", "other"]) place.folder(name, { "README.md": "hello\n" });
    for (const name of ["app", "other"]) {
      place.done("plan", "create", "-r", name, "--name", `fix-${name}`);
      place.shell(`echo new | "$DRYDOCK" plan write fix-${name} ${name} README.md`);
      place.done("plan", "apply", `fix-${name}`);
    }
    place.done("plan", "undo", "fix-app");
    assertRefused(place.drydock(["plan", "undo", "fix-app"]), 1, /is undone/, /It was taken back already/);
    rmSync(join(place.path, "other"), { recursive: true });
    assertRefused(
      place.drydock(["plan", "undo", "fix-other"]),
      2,
      /The plan was not undone: other: The original \S+\/other is gone/,
      /Bring it back/,
    );
    assert.equal(place.answer("plan", "show", "fix-other").state, "applied");
  });
});
