import assert from "node:assert/strict";
import { chmodSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Drydock, openDrydock, type Plan } from "drydock-sandbox";
import { Workplace } from "../end-to-end/workplace.ts";
import { mountImage, whyNoImages } from "../support/file-systems.ts";
import { makeSubvolume } from "../support/subvolumes.ts";

/** Twenty lines, some of them changed. */
function lines(changed: { readonly [line: number]: string } = {}): string {
  return Array.from({ length: 20 }, (_, at) => `${changed[at + 1] ?? `line ${at + 1}`}\n`).join("");
}

const BEFORE = {
  "long.txt": lines(),
  "a.txt": "a\n",
  "gone.txt": "gone\n",
  "mode.sh": "mode\n",
  "folder/inside.txt": "inside\n",
  "old/deep/one.txt": "one\n",
  "old/two.txt": "two\n",
};

/** A plan that changes everything that there is, in every way. */
async function planIn(path: string, drydock: Drydock, strategy: string): Promise<Plan> {
  const app = join(path, "app");
  for (const [name, text] of Object.entries(BEFORE)) {
    mkdirSync(join(app, name, ".."), { recursive: true });
    writeFileSync(join(app, name), text);
  }
  const plan = await drydock.plans.create({ name: "fix", resources: [{ location: app, strategy }] });
  const at = await plan.path();
  writeFileSync(join(at, "long.txt"), lines({ 2: "two", 10: "ten", 18: "eighteen" }));
  writeFileSync(join(at, "a.txt"), "A\n");
  chmodSync(join(at, "mode.sh"), 0o755);
  chmodSync(join(at, "folder"), 0o700);
  mkdirSync(join(at, "new"));
  for (const name of ["new/kept.txt", "new/bad.txt"]) writeFileSync(join(at, name), "new\n");
  for (const name of ["gone.txt", "old"]) rmSync(join(at, name), { recursive: true });
  return plan;
}

async function reject(plan: Plan, paths: readonly string[]): Promise<void> {
  const { changes } = await plan.review.changes();
  const targets = changes
    .filter(({ path }) => paths.includes(path))
    .map(({ digest, resource, path }) => ({ digest, resource, path }));
  assert.equal(targets.length, paths.length);
  await plan.review.vote({ vote: "rejected", targets });
  const { digest = "" } = changes.find(({ path }) => path === "long.txt") ?? {};
  const [, middle] = (await plan.review.hunks({ path: "long.txt" })).hunks;
  await plan.review.vote({ vote: "rejected", targets: [{ digest, hunk: middle?.id ?? "" }] });
}

async function changed(plan: Plan): Promise<readonly string[]> {
  return (await plan.diff()).changes.map(({ path }) => path);
}

const REJECTED = [
  "gone.txt",
  "mode.sh",
  "folder",
  "new/bad.txt",
  "old",
  "old/deep",
  "old/deep/one.txt",
  "old/two.txt",
];

async function takeOut(plan: Plan, app: string): Promise<void> {
  const { digest } = await plan.diff();
  await reject(plan, REJECTED);
  const { part, state } = await plan.rollback({ rejected: true });
  assert.deepEqual([state, part?.changes], ["open", REJECTED.length + 1]);
  assert.deepEqual(await changed(plan), ["a.txt", "long.txt", "new", "new/kept.txt"]);

  await plan.restore(part?.checkpoint ?? "");
  assert.equal((await plan.diff()).digest, digest, "all of it is back");
  await plan.rollback({ rejected: true });
  // The part that is left is the whole plan.
  assert.equal((await plan.apply()).state, "applied");
  assert.deepEqual(statSync(join(app, "mode.sh")).mode & 0o777, 0o644);
}

describe("what reviewers reject", () => {
  for (const strategy of ["overlay", "filesystem_copy"])
    it(`is taken out of the plan, exactly, and can be brought back (${strategy})`, async () => {
      using place = new Workplace();
      await using drydock = await openDrydock({ stateDir: place.state });
      const plan = await planIn(place.path, drydock, strategy);
      await takeOut(plan, join(place.path, "app"));
      assert.deepEqual(place.tree("app"), {
        ...BEFORE,
        ...{ folder: "/", new: "/", old: "/", "old/deep": "/" },
        ...{ "a.txt": "A\n", "long.txt": lines({ 2: "two", 18: "eighteen" }), "new/kept.txt": "new\n" },
      });
    });

  it("is taken out of a snapshot too", { skip: whyNoImages() }, async () => {
    using image = mountImage("btrfs");
    makeSubvolume(join(image.path, "app"));
    await using drydock = await openDrydock({ stateDir: join(image.path, "state") });
    await takeOut(await planIn(image.path, drydock, "snapshot"), join(image.path, "app"));
  });

  it("is named by paths at the command line; what can't go alone is refused, and a crash takes nothing", async () => {
    using place = new Workplace();
    place.done(
      "plan",
      "create",
      "-r",
      place.folder("shop", { "a.txt": "a\n", "old/b.txt": "b\n" }),
      "--name",
      "p",
    );
    const at = place.done("plan", "path", "p").trim();
    place.shell(
      `echo A > ${at}/a.txt; rm -r ${at}/old; mkdir ${at}/new; echo n > ${at}/new/n; echo m > ${at}/new/m`,
    );
    const { digest } = place.answer("plan", "diff", "p");
    const refused = place.drydock(["plan", "rollback", "p", "--only", "old/b.txt"]);
    assert.match(refused.stderr, /old\/b\.txt can't be taken out of the plan without old/);
    assert.equal(place.answer("plan", "diff", "p").digest, digest);
    const env = { DRYDOCK_FAILPOINT: "merge.uncover=kill" };
    const killed = await place.start(["plan", "rollback", "p", "--only", "new", "old"], env).ended();
    assert.equal(killed.signal, "SIGKILL");
    assert.match(place.drydock(["recover"]).stderr, /the rollback of plan p .* is taken back/);
    assert.equal(place.answer("plan", "diff", "p").digest, digest, "recovery brings all of it back");
    place.done("plan", "rollback", "p", "--only", "new/n");
    assert.match(
      place.done("plan", "rollback", "p", "--only", "new", "old"),
      /^Took 4 changes out of plan p .*\nTo take this back: drydock plan restore /,
    );
    assert.deepEqual(
      place.answer("plan", "diff", "p").changes.map(({ path }: { path: string }) => path),
      ["a.txt"],
    );
    assert.match(
      place.drydock(["plan", "rollback", "p", "--rejected"]).stderr,
      /No change of the plan p is rejected/,
    );
    assert.match(place.done("plan", "log", "p"), /part rolled back/);
  });
});
