import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assertRefused, Workplace } from "./workplace.ts";

interface Item {
  readonly kind: string;
  readonly planId: string;
  readonly location: string;
  readonly ageSeconds: number | null;
  readonly bytes?: number;
  readonly reason: string;
  readonly holdsWork?: true;
}

const MANUAL = "sandbox: { cleanup: manual }\n";

/** A plan over app, with a change. */
function planWithWork(place: Workplace, name: string, strategy = "filesystem_copy"): string {
  const id = place.done("plan", "create", "-r", `app,strategy=${strategy}`, "--name", name).trim();
  place.shell(`echo new | "$DRYDOCK" plan write ${name} app ${name}.txt`);
  return id;
}

const homes = (place: Workplace) => {
  const folder = join(place.path, "state/sandboxes");
  return existsSync(folder) ? readdirSync(folder) : [];
};

describe("cleanup on the command line", () => {
  it("[W7] plan show lists everything that a plan has in the world, until nothing is left", () => {
    using place = new Workplace();
    const project = place.folder("project", { "a.txt": "one\n" });
    const id = place.done("plan", "create", "-r", project).trim();
    const places = (): { readonly [key: string]: unknown }[] =>
      place.answer("plan", "show", id, "--places").places;
    assert.match(place.done("plan", "show", id, "--places"), /\nplaces\n {2}folder +\/.* bytes +project\n/);
    place.run("mkdir", ["-p", join(place.state, "runs", id)]);
    assert.ok(places().some(({ kind }) => kind === "run folder"));
    place.shell(`echo two | "$DRYDOCK" plan write ${id} project a.txt`);
    place.done("plan", "apply", id);
    assert.deepEqual(
      places().map(({ kind, resource }) => [kind, resource]),
      [["folder", "project"]],
      "only its undo record is left",
    );
    place.done("plan", "undo", id);
    assert.deepEqual(places(), []);
    assert.match(place.done("plan", "show", id, "--places"), /It has nothing in the world any more\./);
  });

  it("[C1] finds nothing in ordinary use, and never what an open plan needs", () => {
    using place = new Workplace();
    place.folder("app", { "README.md": "hello\n" });
    assert.equal(place.done("cleanup", "scan"), "Nothing is left over.\n");
    planWithWork(place, "open");
    planWithWork(place, "applied");
    place.done("plan", "apply", "applied");
    assert.deepEqual(place.answer("cleanup", "scan"), { items: [], idlePlans: [] });
    assert.deepEqual(place.answer("cleanup", "purge", "--force"), {
      dryRun: false,
      removed: [],
      kept: [],
      failed: [],
    });
    assert.equal(place.done("plan", "diff", "open", "--name-only"), "app/open.txt\n");
    place.done("plan", "undo", "applied");
    assert.match(
      place.done("cleanup", "status"),
      /\nsandboxes +1, \d+ bytes\nundo records +0, 0 bytes\nleft over +nothing\n$/,
    );
  });

  it("[C1][C4] with the policy manual sandboxes stay until they are purged; a dry run removes nothing", () => {
    using place = new Workplace();
    place.folder("app", { "README.md": "hello\n" });
    const config = ["--config", place.write("manual.yaml", MANUAL)];
    for (const strategy of ["filesystem_copy", "overlay"]) {
      const id = planWithWork(place, strategy, strategy);
      place.done("plan", "cancel", strategy, ...config);
      const { items } = place.answer("cleanup", "scan") as { items: Item[] };
      assert.deepEqual(
        items.map(({ kind }) => kind),
        strategy === "overlay" ? ["folder", "mount"] : ["folder"],
      );
      for (const item of items) {
        assert.equal(item.planId, id);
        assert.equal(item.reason, "its plan is cancelled");
        assert.equal(item.holdsWork, undefined);
        assert.ok(item.ageSeconds !== null && item.ageSeconds < 600);
      }
      assert.ok((items[0]?.bytes ?? 0) > 0);
      assert.deepEqual(place.answer("cleanup", "scan", "--older-than", "1d"), { items: [], idlePlans: [] });
      assert.equal(place.done("cleanup", "purge", "--older-than", "1d"), "Nothing is left over.\n");
      assert.match(place.done("cleanup", "purge", "--dry-run"), /^Would remove:\n {2}folder +\d+s +/);
      assert.equal(place.answer("cleanup", "scan").items.length, items.length);
      assert.equal(place.answer("cleanup", "purge").removed.length, items.length);
      assert.deepEqual(place.answer("cleanup", "scan"), { items: [], idlePlans: [] });
      assert.deepEqual(homes(place), []);
    }
  });

  it("[C4] with the policy manual an applied plan can be undone after its sandbox was purged", () => {
    using place = new Workplace();
    place.folder("app", { "README.md": "hello\n" });
    const config = ["--config", place.write("manual.yaml", MANUAL)];
    planWithWork(place, "fix");
    place.done("plan", "apply", "fix", ...config);
    assert.equal(place.answer("cleanup", "scan").items[0].reason, "its plan is applied");
    place.done("cleanup", "purge");
    assert.deepEqual(place.answer("cleanup", "scan"), { items: [], idlePlans: [] });
    place.done("plan", "undo", "fix");
    assert.deepEqual(Object.keys(place.tree("app")), ["README.md"]);
    assert.deepEqual(homes(place), []);
  });

  it("[C5] takes what no record knows only by force, and only in its own state directory", () => {
    using place = new Workplace();
    place.folder("app", { "README.md": "hello\n" });
    const id = planWithWork(place, "lost");
    cpSync(join(place.path, "state/sandboxes"), join(place.path, "kept"), { recursive: true });
    place.done("plan", "cancel", "lost");
    renameSync(join(place.path, "kept"), join(place.path, "state/sandboxes.back"));
    const [home = ""] = readdirSync(join(place.path, "state/sandboxes.back"));
    const stranger = home.replace(id, "01ARZ3NDEKTSV4RRFFQ69G5FAV");
    renameSync(join(place.path, "state/sandboxes.back", home), join(place.path, "state/sandboxes", stranger));
    rmSync(join(place.path, "state/sandboxes.back"), { recursive: true });
    for (const other of ["state/sandboxes/notes", `.drydock-${stranger}-0123456789ab`])
      mkdirSync(join(place.path, other));
    const [item, ...others] = place.answer("cleanup", "scan").items as Item[];
    assert.deepEqual(others, []);
    assert.deepEqual([item?.reason, item?.holdsWork, item?.ageSeconds], ["no record knows it", true, null]);
    const { removed, kept } = place.answer("cleanup", "purge");
    assert.equal(removed.length, 0);
    assert.match(kept[0].why, /only copy .* --force/);
    assert.equal(place.answer("cleanup", "purge", "--force").removed.length, 1);
    assert.deepEqual(homes(place), ["notes"]);
    assert.ok(existsSync(join(place.path, `.drydock-${stranger}-0123456789ab`)));
  });

  it("[C3][C5] leaves alone what is in use, goes on after a failure, and says so with exit code 4", async () => {
    using place = new Workplace();
    place.folder("app", { "README.md": "hello\n" });
    const config = ["--config", place.write("manual.yaml", MANUAL)];
    const ids = ["one", "two", "three"].map((name) => planWithWork(place, name));
    for (const name of ["one", "two", "three"]) place.done("plan", "cancel", name, ...config);
    const [first = "", second = ""] = ids.map((id) => homes(place).find((home) => home.startsWith(id)) ?? "");
    const mounted = join(place.path, "state/sandboxes", second, "tree");
    const { status } = place.run("mount", ["-t", "tmpfs", "tmpfs", mounted]);
    if (status !== 0) return;
    try {
      const ended = place.drydock(["cleanup", "purge", "--json"]);
      assert.equal(ended.status, 4, ended.stderr);
      const { removed, failed } = JSON.parse(ended.stdout);
      assert.equal(removed.length, 2);
      assert.match(failed[0].message, /is a mount point and is not removed/);
      assert.ok(!homes(place).includes(first));
    } finally {
      place.run("umount", [mounted]);
    }
    place.done("cleanup", "purge");
    assert.deepEqual(homes(place), []);
  });

  it("[C1] keeps what an undo remembers as long as another plan needs it, and knows it after a crash, with the lock of the dead", () => {
    using place = new Workplace();
    place.folder("app", { "README.md": "hello\n", "other.txt": "other\n" });
    const restored = () => readdirSync(join(place.path, "state/restored"));
    const landAndUndo = (name: string) => {
      planWithWork(place, name);
      place.shell(`echo changed | "$DRYDOCK" plan write ${name} app README.md`);
      place.done("plan", "apply", name);
      place.done("plan", "undo", name);
    };
    landAndUndo("alone");
    assert.deepEqual(restored(), []);
    planWithWork(place, "beside");
    landAndUndo("again");
    assert.equal(restored().length, 1);
    assert.deepEqual(place.answer("cleanup", "scan"), { items: [], idlePlans: [] });
    // The plan is over, but the process dies before the last step.
    const env = { DRYDOCK_FAILPOINT: "restored.remove:1=kill" };
    assert.notEqual(place.drydock(["plan", "cancel", "beside"], { env }).status, 0);
    assert.equal(place.answer("plan", "show", "beside").state, "cancelled");
    const kinds = (items: readonly Item[]) => items.map(({ kind }) => kind).toSorted();
    assert.deepEqual(kinds(place.answer("cleanup", "scan").items), ["lock", "times"]);
    assert.deepEqual(kinds(place.answer("cleanup", "purge").removed), ["lock", "times"]);
    assert.deepEqual([restored(), readdirSync(join(place.path, "state/owners"))], [[], []]);
  });

  it("[X5] refuses an age that is none", () => {
    using place = new Workplace();
    for (const command of ["scan", "purge"])
      assertRefused(
        place.drydock(["cleanup", command, "--older-than", "soon"]),
        2,
        /'soon' is not a duration/,
      );
    writeFileSync(join(place.path, "x"), "");
    assertRefused(place.drydock(["cleanup"]), 2, /A command is missing after 'drydock cleanup'/);
  });
});
