import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assertRefused, type Ended } from "../end-to-end/workplace.ts";
import { type Actor, Stage } from "../run/stage.ts";
import { type Mounted, mountImage, whyNoImages } from "../support/file-systems.ts";
import { makeSubvolume, subvolumesOf } from "../support/subvolumes.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";

/** Somebody at work on a subvolume of btrfs, which belongs to him. */
class OnBtrfs extends Stage {
  readonly image: Mounted;
  readonly original: string;

  constructor(actor: Actor, options = "rw") {
    super(actor);
    this.image = mountImage("btrfs");
    execFileSync("mount", ["-o", `remount,${options}`, this.image.path]);
    this.original = join(this.image.path, "original");
    makeSubvolume(this.original);
    mkdirSync(join(this.original, "folder"));
    for (const path of ["file", "folder/file", "folder/gone"])
      writeFileSync(join(this.original, path), "old\n");
    execFileSync("chown", ["-R", `--reference=${this.project}`, this.original]);
  }

  on(...args: readonly string[]): Ended {
    return this.drydock(args, { cwd: this.original });
  }

  succeeds(...args: readonly string[]): string {
    const { status, stdout, stderr } = this.on(...args);
    assert.equal(status, 0, `drydock ${args.join(" ")}: ${stderr}`);
    return `${stdout}${stderr}`;
  }

  /** The original, without our workspace in it. */
  picture() {
    return snapshotTree(this.original, { ignore: (path) => path.startsWith(".drydock-") });
  }

  assertTidy(): void {
    assert.deepEqual(subvolumesOf(this.image.path), ["original"]);
    assert.deepEqual(
      readdirSync(this.original).filter((name) => name.startsWith(".drydock-")),
      [],
    );
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.image.remove();
  }
}

const WORK = "echo new > file; rm folder/gone; mkdir more; mv folder/file more/; ls -A";

describe("A subvolume of btrfs", { skip: whyNoImages() ?? false }, () => {
  for (const [actor, options] of [
    ["root", "rw"],
    ["user", "user_subvol_rm_allowed"],
  ] as const)
    it(`[S5][A9][A11] is snapshot without being asked for, for ${actor}: what runs and plans do lands and can be taken back`, () => {
      using place = new OnBtrfs(actor, options);
      const before = place.picture();
      assert.match(place.succeeds("run", "--apply", "--name", "run", "--", "sh", "-ec", WORK), / snapshot\n/);
      assert.equal(readFileSync(join(place.original, "more/file"), "utf8"), "old\n");
      place.succeeds("plan", "undo", "run");
      assertSameTree(place.picture(), before, "after the undo of a run");
      place.assertTidy();
      place.succeeds("plan", "create", "--name", "plan");
      const seen = place.succeeds("plan", "exec", "plan", "--", "sh", "-ec", WORK);
      assert.equal(seen, "file\nfolder\nmore\n");
      assertSameTree(place.picture(), before, "before it lands");
      assert.match(place.succeeds("plan", "diff", "plan"), /more\/file/);
      place.succeeds("plan", "rollback", "plan");
      assert.equal(
        readFileSync(join(place.succeeds("plan", "path", "plan").trim(), "file"), "utf8"),
        "old\n",
      );
      place.succeeds("plan", "exec", "plan", "--", "sh", "-ec", WORK);
      place.succeeds("plan", "apply", "plan");
      assert.deepEqual(readdirSync(join(place.original, "folder")), []);
      place.succeeds("plan", "undo", "plan");
      assertSameTree(place.picture(), before, "after the undo of a plan");
      place.succeeds("plan", "create", "--name", "cancelled");
      place.succeeds("plan", "exec", "cancelled", "--", "sh", "-ec", WORK);
      place.succeeds("plan", "cancel", "cancelled");
      place.assertTidy();
    });

  it("[S5][X4] is not snapshot for a user who could not delete it, or whose it is not, and that is said", () => {
    using place = new OnBtrfs("user");
    const refused = (reason: RegExp) =>
      assertRefused(
        place.on("plan", "create", "-r", "name=.,strategy=snapshot"),
        1,
        reason,
        /another strategy/,
      );
    refused(/is not mounted with user_subvol_rm_allowed, so only root could delete a snapshot of it/);
    chownSync(place.original, 0, 0);
    refused(/the subvolume \S+ belongs to another user/);
    place.assertTidy();
    assert.deepEqual(place.answer("plan", "list", "--all").plans, []);
  });

  it("[S5] is named by doctor as where snapshot can be used", () => {
    using place = new OnBtrfs("root");
    const text = place.done("doctor");
    assert.match(
      text,
      /\nok +snapshot +50 {2}works for sqlite-database(?:, postgres-database)?(?:, mysql-database)?; not for fs-directory, fs-mount, git-checkout: \S+ is not on btrfs\nok +btrfs +for whole subvolumes on \S/,
    );
    assert.ok(text.includes(place.image.path));
    const { strategies, resourceTypes } = JSON.parse(
      place.drydock(["doctor", "--json", "--state-dir", place.original]).stdout,
    );
    const found = strategies.find(({ name }: { name: string }) => name === "snapshot");
    assert.deepEqual([found.works, found.detail], [true, "works, by a snapshot of btrfs"]);
    const folders = resourceTypes.find(({ type }: { type: string }) => type === "fs-directory");
    assert.equal(folders.strategy, "snapshot");
  });
});
