import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Workplace } from "../end-to-end/workplace.ts";
import { Stage } from "../run/stage.ts";

/** A call that passes a failpoint, and the plan that it needs. */
interface Case {
  readonly points: readonly string[];
  /** Makes a plan and returns its id. */
  readonly plan: (place: Workplace) => string;
  readonly call: readonly [verb: string, ...args: readonly string[]];
}

const copied = (place: Workplace) =>
  place.done("plan", "create", "-r", "app=app,strategy=filesystem_copy").trim();
/** `run` leaves an overlay that is not mounted. */
const unmounted = (place: Workplace): string =>
  JSON.parse(
    place.drydock([
      ...["run", "--json", "--keep", "-r", "app=app,strategy=overlay", "--"],
      ...["sh", "-c", "echo work > new; echo work > changed"],
    ]).stdout,
  ).planId;

const CASES: readonly Case[] = [
  { points: ["entry.remove"], plan: copied, call: ["rm", "file"] },
  { points: ["entry.rename"], plan: copied, call: ["mv", "file", "to/file"] },
  { points: ["overlay.make-whiteout", "overlay.hide-entry"], plan: unmounted, call: ["rm", "file"] },
  { points: ["overlay.remove-aside"], plan: unmounted, call: ["rm", "changed"] },
  { points: ["overlay.remove-own"], plan: unmounted, call: ["rm", "new"] },
  { points: ["overlay.link-aside"], plan: unmounted, call: ["mv", "changed", "to/changed"] },
  { points: ["overlay.move-own"], plan: unmounted, call: ["mv", "new", "to/new"] },
  {
    points: ["overlay.create-aside", "overlay.aside-metadata", "overlay.place-aside"],
    plan: unmounted,
    call: ["mv", "folder", "to/folder"],
  },
  { points: ["spool.make", "spool.data"], plan: copied, call: ["write", "to/written"] },
];

const NEEDS_ROOT = process.geteuid?.() === 0 ? false : "not root, so nothing can be mounted";
const ORIGINAL = { file: "old\n", changed: "old\n", "folder/inner": "old\n" };

describe("Drydock is killed while it changes an entry of a sandbox", { skip: NEEDS_ROOT }, () => {
  for (const { points, plan, call } of CASES) {
    for (const point of points) {
      const [verb, from = "", to = from] = call;
      it(`at ${point}, by plan ${verb}: the work is at one path or at both, and the call can be made again`, () => {
        using place = new Workplace();
        place.folder("app", ORIGINAL);
        const before = place.tree("app");
        const id = plan(place);
        const words = ["plan", verb, id, "app", ...call.slice(1)];
        const input = "written\n";
        const killed = place.drydock(words, { env: { DRYDOCK_FAILPOINT: `${point}=kill` }, input });
        assert.equal(killed.status, null, "it was not killed");
        assert.deepEqual(place.tree("app"), before);
        const paths = () =>
          place.answer("plan", "ls", id, "app", "-R").entries.map((entry: { path: string }) => entry.path);
        const now: readonly string[] = paths();
        if (verb === "mv") {
          assert.ok(now.includes(from) || now.includes(to), now.join());
          // At both paths: the copy goes, and the call is made again.
          if (now.includes(from) && now.includes(to)) place.done("plan", "rm", id, "app", to, "-R");
        }
        if (paths().includes(from) || verb === "write")
          assert.equal(place.drydock(words, { input }).status, 0);
        assert.equal(paths().includes(from), verb === "write");
        place.done("plan", "apply", id);
        const after = place.tree("app");
        assert.equal(Object.keys(after).includes(from), verb === "write");
        assert.equal(Object.keys(after).includes(to), verb !== "rm");
        assert.deepEqual(
          Object.keys(after).filter((path) => /aside|drydock/.test(path)),
          [],
        );
      });
    }
  }
});

describe("A change of one entry where nothing is mounted", { skip: NEEDS_ROOT }, () => {
  it("[A8] notes what it covers itself, and looks at nothing else that has changed", () => {
    using place = new Workplace();
    place.folder("app", ORIGINAL);
    const id = unmounted(place);
    const trace = join(place.path, "trace");
    for (const words of [
      ["rm", "file"],
      ["mv", "folder", "to/folder"],
      ["rm", "changed"],
    ]) {
      const [verb = "", ...paths] = words;
      const env = { DRYDOCK_FAILPOINT_TRACE: trace };
      assert.equal(place.drydock(["plan", verb, id, "app", ...paths], { env }).status, 0);
    }
    assert.doesNotMatch(readFileSync(trace, "utf8"), /overlay\.mark-(?:entered|left)/);
    place.done("plan", "apply", id);
    assert.deepEqual(Object.keys(place.tree("app")).sort(), ["new", "to", "to/folder", "to/folder/inner"]);
    place.done("plan", "undo", id);
    assert.equal(place.read("app/file"), "old\n");
  });
});

describe("Drydock is killed while it renames a folder that a running command sees", () => {
  for (const point of ["entry.place-copy", "entry.remove-moved"]) {
    it(`at ${point}: the folder is at one path or at both, and the call can be made again`, async () => {
      using stage = new Stage("user");
      stage.write("project/folder/inner", "old\n");
      stage.give();
      const id = stage.done("plan", "create", "-r", `app=${stage.project},strategy=overlay`).trim();
      const running = stage.start(["plan", "exec", id, "--", "sh", "-c", "echo 1 > up; exec sleep 1000"]);
      const paths = (): readonly string[] =>
        stage.answer("plan", "ls", id, "app", "-R").entries.map((entry: { path: string }) => entry.path);
      while (!paths().includes("up")) await setTimeout(20);
      const words = ["plan", "mv", id, "app", "folder", "to/folder"];
      const killed = stage.drydock(words, { env: { DRYDOCK_FAILPOINT: `${point}=kill` } });
      assert.equal(killed.status, null, "it was not killed");
      const isPlaced = paths().includes("to/folder/inner");
      assert.ok(isPlaced || paths().includes("folder/inner"));
      if (isPlaced) stage.done("plan", "rm", id, "app", "to/folder", "-R");
      assert.equal(stage.drydock(words).status, 0);
      assert.deepEqual(
        paths().filter((path) => /folder|aside|drydock/.test(path)),
        ["to/folder", "to/folder/inner"],
      );
      running.signal("SIGTERM");
      await running.ended();
      stage.done("plan", "apply", id);
      assert.equal(stage.read("project/to/folder/inner"), "old\n");
      assert.deepEqual(
        Object.keys(stage.tree("project")).filter((path) => /^folder|drydock/.test(path)),
        [],
      );
    });
  }
});
