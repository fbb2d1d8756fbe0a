import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Ended } from "../end-to-end/workplace.ts";
import { ACTORS, type Actor, Stage } from "../run/stage.ts";
import { Served } from "../serve/served.ts";
import { type Mounted, mountImage, mountMemory, whyNoImages } from "../support/file-systems.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";

const SKIP = whyNoImages() ?? false;
const MEGABYTES = 16;
const DISKS = [
  { kind: "ext4", state: "elsewhere", actors: ACTORS },
  { kind: "tmpfs", state: "on it", actors: ACTORS.slice(0, 1) },
] as const;

/** A small disk with an original on it, and the state beside it or on another one. */
class SmallDisk extends Stage {
  readonly disk: Mounted;
  readonly original: string;
  readonly #filler: string;
  readonly #hasState: boolean;

  constructor(actor: Actor, { kind, state }: (typeof DISKS)[number]) {
    super(actor);
    this.#hasState = state === "on it";
    this.disk = kind === "tmpfs" ? mountMemory() : mountImage(kind, { megabytes: MEGABYTES });
    if (kind === "tmpfs") execFileSync("mount", ["-o", `remount,size=${MEGABYTES}m`, this.disk.path]);
    this.original = join(this.disk.path, "original");
    this.#filler = join(this.disk.path, "filler");
    mkdirSync(join(this.original, "folder"), { recursive: true });
    for (const name of ["a", "b", "folder/c"]) writeFileSync(join(this.original, name), `${name}\n`);
    execFileSync("chown", ["-R", `--reference=${this.project}`, this.disk.path]);
  }

  /** What tells drydock where the state is. */
  get environmentOnIt(): { readonly [name: string]: string } {
    return this.#hasState ? { DRYDOCK_STATE_DIR: join(this.disk.path, "state") } : {};
  }

  /** Runs drydock on the disk. */
  on(...args: readonly string[]): Ended {
    return this.drydock(args, { cwd: this.original, env: this.environmentOnIt });
  }

  /** The same, and it dies. */
  killed(failpoint: string, ...args: readonly string[]): Ended {
    const env = { ...this.environmentOnIt, DRYDOCK_FAILPOINT: `${failpoint}=kill` };
    return this.drydock(args, { cwd: this.original, env });
  }

  /** Leaves no room, not even for a block of a folder; in memory folders take none. */
  fill(): void {
    const folders = `for i in $(seq 64); do mkdir '${this.#filler}-'$i || break; done`;
    execFileSync("sh", ["-c", `cat /dev/zero > '${this.#filler}'; ${folders}; true`], { stdio: "ignore" });
  }

  makeRoom(): void {
    execFileSync("sh", ["-c", `rm -rf '${this.#filler}'*`]);
  }

  /** What we have left on the disk beside the original. */
  get strangers(): readonly string[] {
    return readdirSync(this.disk.path).filter((name) => name.startsWith(".drydock-"));
  }

  get freeBlocks(): number {
    return statfsSync(this.disk.path).bfree;
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.disk.remove();
  }
}

function assertSaysSo({ status, stderr }: Ended): void {
  assert.notEqual(status, 0);
  assert.match(stderr, /no space left|\broom\b/i);
  assert.match(stderr, /^ {2}hint: \S/m);
  assert.doesNotMatch(stderr, /^\s+at /m);
}

describe("A full disk with the state on it", { skip: SKIP }, () => {
  const small = DISKS[1];
  const large = "cat /dev/urandom | head -c 4500000 > folder/large";

  it("[W4] lets a plan be cancelled, which makes room, however often that is killed", () => {
    using disk = new SmallDisk("root", small);
    const ran = disk.on("run", "--keep", "--name", "work", "--", "sh", "-c", large);
    assert.equal(ran.status, 0, ran.stderr);
    disk.fill();
    for (const point of ["reserve.free", "cleanup.remove"]) {
      const dead = disk.killed(point, "plan", "cancel", "work");
      assert.equal(dead.status, null, dead.stderr);
    }
    assert.equal(disk.killed("reserve.keep", "recover").status, null);
    assert.ok(disk.freeBlocks > 400, "there is room again");
    assert.deepEqual(JSON.parse(disk.on("plan", "list", "--json").stdout), { plans: [] });
  });

  it("[W4] lets what is left over be purged, and the work of a plan be thrown away", () => {
    using disk = new SmallDisk("root", small);
    const config = join(disk.disk.path, "settings.yaml");
    writeFileSync(config, "sandbox: { cleanup: manual }\n");
    disk.on("run", "--keep", "--name", "first", "--", "sh", "-c", large);
    disk.on("run", "--keep", "--name", "second", "--", "sh", "-c", large);
    disk.on("plan", "cancel", "first", "--config", config);
    disk.fill();
    const purged = disk.on("cleanup", "purge");
    assert.equal(purged.status, 0, purged.stderr);
    disk.fill();
    const rolled = disk.on("plan", "rollback", "second");
    assert.equal(rolled.status, 0, rolled.stderr);
    assert.ok(disk.freeBlocks > 400, "there is room again");
  });

  it("[W4] lets programs cancel plans and purge through a server, as often as the disk is full", async () => {
    using disk = new SmallDisk("root", small);
    await using served = await Served.start(disk, [], disk.environmentOnIt);
    const resources = [{ location: disk.original }];
    // No command of the command line, which would refill the reserve.
    for (const name of ["first", "second"]) {
      const body = { plan: { resources, name }, command: ["sh", "-c", large] };
      const ran = await served.client.POST("/v1/run", { body });
      assert.equal(ran.data?.outcome, "kept", JSON.stringify(ran.error));
      disk.fill();
      const params = { path: { plan: name } };
      const { data, error } = await served.client.POST("/v1/plans/{plan}/cancel", { params });
      assert.equal(data?.state, "cancelled", JSON.stringify(error));
      assert.ok(disk.freeBlocks > 400, "there is room again");
      disk.makeRoom();
    }
    for (const path of ["/v1/cleanup/purge", "/v1/recover"] as const) {
      disk.fill();
      const { error } = await served.client.POST(path);
      assert.equal(error, undefined, JSON.stringify(error));
    }
  });
});

for (const small of DISKS)
  for (const actor of small.actors)
    describe(`A full disk, ${small.kind} with the state ${small.state}, for ${actor}`, { skip: SKIP }, () => {
      it("[A7][A10] a command that fills it fails, nothing lands, and discarding gives all the room back", () => {
        using disk = new SmallDisk(actor, small);
        const before = snapshotTree(disk.original);
        const script = "rm a; echo changed > b; cat /dev/zero > folder/large";
        // What is made once, like the database, is there afterwards.
        disk.on("run", "--discard", "--", "sh", "-c", "echo small > b");
        const free = disk.freeBlocks;
        const ran = disk.on("run", "--apply", "--name", "large", "--", "sh", "-c", script);
        assert.notEqual(ran.status, 0);
        assertSameTree(snapshotTree(disk.original), before, "something landed");
        const cancelled = disk.on("plan", "cancel", "large");
        assert.equal(cancelled.status, 0, `${ran.stderr}${cancelled.stderr}`);
        assert.ok(disk.freeBlocks >= free - 64, `${free} blocks were free, ${disk.freeBlocks} are`);
        assertSameTree(snapshotTree(disk.original), before, "something landed");
      });

      it("[A7][A10] an apply without room lands all or nothing, says why, and works once there is room", () => {
        using disk = new SmallDisk(actor, small);
        const before = snapshotTree(disk.original);
        const script =
          "rm a; for n in $(seq 300); do echo $n > folder/new-$n; done; echo changed > b; mkdir new; cp b new/";
        const ran = disk.on("run", "--keep", "--name", "work", "--", "sh", "-ec", script);
        assert.equal(ran.status, 0, ran.stderr);
        disk.fill();
        const full = disk.on("plan", "apply", "work");
        const hasLanded = !existsSync(join(disk.original, "a"));
        if (hasLanded) assert.equal(full.status, 0, full.stderr);
        else {
          assertSaysSo(full);
          assertSameTree(snapshotTree(disk.original), before, "half landed");
        }
        disk.makeRoom();
        if (!hasLanded) {
          const again = disk.on("plan", "apply", "work");
          assert.equal(again.status, 0, `${full.stderr}${again.stderr}`);
        }
        assert.equal(readFileSync(join(disk.original, "folder/new-300"), "utf8"), "300\n");
        assert.equal(readFileSync(join(disk.original, "new/b"), "utf8"), "changed\n");
        assert.ok(!existsSync(join(disk.original, "a")));
        disk.fill();
        const undone = disk.on("plan", "undo", "work");
        disk.makeRoom();
        if (undone.status !== 0) {
          assertSaysSo(undone);
          assert.equal(undone.status, 1, undone.stderr);
          assert.ok(!existsSync(join(disk.original, "a")));
          const again = disk.on("plan", "undo", "work");
          assert.equal(again.status, 0, `${undone.stderr}${again.stderr}`);
        }
        assertSameTree(snapshotTree(disk.original), before, "taken back");
      });

      it("[X4] without room for anything, a new run is refused with the reason and leaves nothing", () => {
        using disk = new SmallDisk(actor, small);
        const before = snapshotTree(disk.original);
        disk.on("plan", "list");
        disk.fill();
        const ran = disk.on("run", "--apply", "--", "sh", "-c", "echo changed > b");
        assertSaysSo(ran);
        assertSameTree(snapshotTree(disk.original), before, "something landed");
        assert.deepEqual(disk.strangers, []);
        disk.makeRoom();
        const again = disk.on("run", "--apply", "--", "sh", "-c", "echo changed > b");
        assert.equal(again.status, 0, `${ran.stderr}${again.stderr}`);
        assert.equal(readFileSync(join(disk.original, "b"), "utf8"), "changed\n");
      });
    });
