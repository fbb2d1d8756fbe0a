import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assertRefused, type Ended } from "../end-to-end/workplace.ts";
import { type Actor, Stage } from "../run/stage.ts";
import { type Mounted, mountImage, mountMemory, whyNoImages } from "../support/file-systems.ts";
import { IS_LONG } from "../support/long-form.ts";
import { unmount } from "../support/remove-folder.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";

/**
 * Where an original can be: a file system of its own, of which it is the top, or a folder in it. Each works,
 * or is refused with the reason.
 */
const SKIP = whyNoImages() ?? false;
const KINDS = ["tmpfs", "ext4", "xfs", "btrfs"] as const;
type Kind = (typeof KINDS)[number];
const FILES = ["edited", "gone", "folder/edited", "folder/gone"];
const WORK = `
  echo changed > edited; rm gone; echo changed > folder/edited; rm folder/gone
  echo added > added; mkdir -p new/deep; echo added > new/deep/file; mv folder/kept new/`;

/** Somebody at work on an original that is on a file system of its own; the state is on another one. */
class Elsewhere extends Stage {
  readonly original: string;
  readonly #mounted: Mounted;

  constructor(actor: Actor, kind: Kind, below: string) {
    super(actor);
    this.#mounted = kind === "tmpfs" ? mountMemory() : mountImage(kind);
    this.original = join(this.#mounted.path, below);
    fill(this.original);
    execFileSync("chown", ["-R", `--reference=${this.project}`, this.#mounted.path]);
  }

  on(...args: readonly string[]): Ended {
    return this.drydock(args, { cwd: this.original });
  }

  succeeds(...args: readonly string[]): string {
    const { status, stdout, stderr } = this.on(...args);
    assert.equal(status, 0, `drydock ${args.join(" ")}: ${stderr}`);
    return `${stdout}${stderr}`;
  }

  /** Ours are nowhere on it any more. */
  assertTidy(): void {
    const ours = readdirSync(this.#mounted.path, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.includes(".drydock-"),
    );
    assert.deepEqual(ours, []);
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.#mounted.remove();
  }
}

function fill(folder: string): void {
  mkdirSync(join(folder, "folder"), { recursive: true });
  for (const path of [...FILES, "folder/kept"]) writeFileSync(join(folder, path), `${path}\n`);
}

function assertWorked(original: string): void {
  const text = (path: string) => readFileSync(join(original, path), "utf8");
  for (const path of ["edited", "folder/edited"]) assert.equal(text(path), "changed\n", path);
  for (const path of ["added", "new/deep/file"]) assert.equal(text(path), "added\n", path);
  assert.equal(text("new/kept"), "folder/kept\n");
  assert.deepEqual(readdirSync(join(original, "folder")), ["edited"]);
  const seen = readdirSync(original).filter((name) => name !== "lost+found" && !name.startsWith(".drydock-"));
  assert.deepEqual(seen.toSorted(), ["added", "edited", "folder", "new"]);
}

const FOLDER = "some/folder";
const PLACES: readonly { readonly kind: Kind; readonly below: string; readonly actor: Actor }[] = [
  ...KINDS.map((kind) => ({ kind, below: ".", actor: "root" }) as const),
  ...(IS_LONG ? (["tmpfs", "xfs", "btrfs"] as const) : (["xfs"] as const)).map(
    (kind) => ({ kind, below: FOLDER, actor: "root" }) as const,
  ),
  { kind: "tmpfs", below: ".", actor: "user" },
  { kind: "btrfs", below: FOLDER, actor: "user" },
];

describe("An original on a file system of its own", { skip: SKIP }, () => {
  for (const { kind, below, actor } of PLACES)
    it(`[A9][A11] ${below === "." ? `the mount point of ${kind}` : `a folder on ${kind}`}, for ${actor}: what a run and a plan do lands and can be taken back`, () => {
      using place = new Elsewhere(actor, kind, below);
      const picture = () => snapshotTree(place.original, { ignore: isNobodysData });
      const before = picture();
      // The top of a btrfs is a whole subvolume.
      const strategy = kind === "btrfs" && below === "." ? / snapshot\n/ : / overlay\n/;
      assert.match(place.succeeds("run", "--apply", "--name", "run", "--", "sh", "-ec", WORK), strategy);
      assertWorked(place.original);
      place.succeeds("plan", "undo", "run");
      assertSameTree(picture(), before, "after the undo of a run");
      place.succeeds("plan", "create", "--name", "plan");
      const seen = place.succeeds("plan", "exec", "plan", "--", "sh", "-ec", `${WORK}\nls -A`);
      assert.doesNotMatch(seen, /\.drydock-/);
      assertSameTree(picture(), before, "before it lands");
      place.succeeds("plan", "apply", "plan");
      assertWorked(place.original);
      place.succeeds("plan", "undo", "plan");
      assertSameTree(picture(), before, "after the undo of a plan");
      place.assertTidy();
    });
});

describe("An original on an overlay, as in a container", { skip: SKIP }, () => {
  it("[W1][W3][L8][X4] is worked on by a copy, and taken back; a strategy that can't is refused with the reason", () => {
    using stage = new Stage("root");
    using memory = mountMemory();
    const [lower = "", upper = "", work = "", merged = ""] = ["lower", "upper", "work", "merged"].map(
      (name) => {
        mkdirSync(join(memory.path, name));
        return join(memory.path, name);
      },
    );
    fill(join(lower, FOLDER));
    const layers = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
    execFileSync("mount", ["-t", "overlay", "drydock-test", "-o", layers, merged]);
    try {
      const cwd = join(merged, FOLDER);
      const before = snapshotTree(cwd);
      const overlay = stage.drydock(["plan", "create", "-r", "name=.,strategy=overlay"], { cwd });
      assertRefused(overlay, 1, /is on an overlay itself/, /another strategy/);
      assertSameTree(snapshotTree(cwd), before, "something changed");
      const run = stage.drydock(["run", "--apply", "--name", "run", "--", "sh", "-ec", WORK], { cwd });
      assert.equal(run.status, 0, run.stderr);
      assert.match(`${run.stdout}${run.stderr}`, /filesystem_copy/);
      assertWorked(cwd);
      const undo = stage.drydock(["plan", "undo", "run"], { cwd });
      assert.equal(undo.status, 0, undo.stderr);
      assertSameTree(snapshotTree(cwd), before, "after the undo");
    } finally {
      unmount(merged);
    }
  });
});

/**
 * Made by mkfs, and root's; and where Drydock keeps its things if there is no other place on the same mount.
 */
function isNobodysData(path: string): boolean {
  return path === "lost+found" || path.startsWith(".drydock-");
}
