import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Services } from "../../src/services.ts";
import { openLiveMount } from "../../src/system/mount/live-mounts.ts";
import { Workshop } from "../commit/workshop.ts";
import { Running } from "../end-to-end/workplace.ts";
import { ACTORS, Stage } from "../run/stage.ts";
import { OneWayOverlay } from "../support/one-way-overlay.ts";
import { BY_FUSE } from "../support/overlay-runs.ts";

const NEEDS_ROOT = process.geteuid?.() === 0 ? false : "not root, so nothing can be mounted";

describe("A rival's change of a folder while a program in the sandbox works in it", () => {
  for (const actor of ACTORS) {
    // Came from: a folder that was gone when the program ended counted as made by it, and came back with only
    // what it had changed.
    it(`[A15] is a conflict if he deletes the folder, run by ${actor}`, async () => {
      using stage = new Stage(actor);
      const { status, stderr } = await runMeanwhile(stage, "echo more >> d/f", () =>
        rmSync(join(stage.project, "d"), { recursive: true }),
      );
      assert.equal(status, 3, stderr);
      assert.match(stderr, /d\/f: its folder d was deleted/);
      assert.deepEqual(Object.keys(stage.tree("project")), ["a.txt", "next", "next/f", "next/g"]);
    });
  }

  for (const actor of ACTORS) {
    // Came from: the mode of a folder was noted when the program ended, so what the rival had closed was
    // opened again as if by the plan.
    it(`[A15] is a conflict if he closes the folder, run by ${actor}`, async () => {
      using stage = new Stage(actor);
      const folder = join(stage.project, "d");
      const { status, stderr } = await runMeanwhile(stage, "echo new > d/new", () =>
        chmodSync(folder, 0o700),
      );
      assert.equal(status, 3, stderr);
      assert.match(stderr, /project\/d: mode, owner or attributes changed/);
      assert.equal(statSync(folder).mode & 0o777, 0o700);
    });
  }

  // Came from: the identity of a folder was noted when the program ended, so an older folder that was moved
  // there meanwhile was taken for it.
  it("[A15] is a conflict if he puts another folder in its place", { skip: NEEDS_ROOT }, async () => {
    using stage = new Stage("root");
    const { status, stderr } = await runMeanwhile(stage, "echo more >> d/f; rm d/g", () => {
      renameSync(join(stage.project, "d"), join(stage.project, "before"));
      renameSync(join(stage.project, "next"), join(stage.project, "d"));
    });
    assert.equal(status, 3, stderr);
    assert.match(stderr, /d\/f: its folder d was replaced/);
    assert.equal(stage.read("project/d/f"), "f of next\n");
    assert.equal(stage.read("project/d/g"), "g of next\n");
  });
});

/**
 * Runs a script over a project with folders `d` and `next`, and lets a rival act when it is done but has not
 * ended.
 */
async function runMeanwhile(stage: Stage, script: string, act: () => void) {
  for (const folder of ["d", "next"])
    for (const name of ["f", "g"]) stage.write(`project/${folder}/${name}`, `${name} of ${folder}\n`);
  stage.give();
  const running = stage.start(["run", "--apply", "--", "sh", "-c", `${script}; echo done; read -r _`]);
  await running.until(() => running.stdout.includes("done"));
  act();
  running.input("\n");
  return await running.ended();
}

describe("What a command did", () => {
  // Came from: whatever failed after the command had ended was taken for a failure to start it, and its plan
  // was cancelled.
  it("[A7] is kept when something fails after its end", { skip: NEEDS_ROOT }, () => {
    using stage = new Stage("root");
    const env = { DRYDOCK_FAILPOINT: "overlay.unmount=error" };
    const { status } = stage.drydock(["run", "--keep", "--", "sh", "-c", "echo hours > work.txt"], { env });
    assert.equal(status, 1);
    const [plan] = stage.answer("plan", "list").plans;
    assert.equal(stage.drydock(["plan", "apply", plan.id]).status, 0);
    assert.equal(stage.read("project/work.txt"), "hours\n");
  });
});

for (const actor of ACTORS) {
  describe(`A command inside, run by ${actor},`, () => {
    // Came from: descriptors that Drydock was started with were passed on, and a folder among them is a way
    // out.
    it("[X7] gets no descriptor that Drydock was started with but its streams", () => {
      using stage = new Stage(actor);
      stage.write("outside/x", "safe\n");
      stage.give();
      const script = `"$DRYDOCK" run --discard -- sh -c 'echo out > /proc/self/fd/20/x; ls /proc/self/fd' 20<'${stage.path}/outside'`;
      const { stdout } = stage.shell(script, { cwd: stage.project });
      assert.deepEqual(stdout.trim().split("\n"), ["0", "1", "2", "3"]);
      assert.equal(stage.read("outside/x"), "safe\n");
    });

    // Came from: programs that put a command inside have privileges, and loaded a library that an earlier
    // command had left in the sandbox.
    it("[X7] can't leave a library that is loaded before the next command has lost its privileges", () => {
      using stage = new Stage(actor);
      stage.write("project/lib/", "");
      stage.give();
      const env = { LD_LIBRARY_PATH: join(stage.project, "lib") };
      const id = stage.done("plan", "create", "-r", stage.project).trim();
      const exec = (script: string) => stage.drydock(["plan", "exec", id, "--", "sh", "-c", script], { env });
      const planted = exec(
        "for name in libmount.so.1 libblkid.so.1 libcap-ng.so.0; do echo no library > lib/$name; done",
      );
      assert.equal(planted.status, 0, planted.stderr);
      assert.deepEqual(exec("echo $LD_LIBRARY_PATH"), {
        status: 0,
        stdout: `${env.LD_LIBRARY_PATH}\n`,
        stderr: "",
      });
      stage.done("plan", "cancel", id);
    });
  });
}

describe("A sandbox by overlay", () => {
  // Came from: only the mount knows that a file was changed through another of its names, and reading did not
  // ask it.
  it("[A11] is read as programs see it, also by another name of a changed file", {
    skip: NEEDS_ROOT,
  }, async () => {
    await using workshop = new Workshop();
    linkSync(workshop.at("a/old.txt"), workshop.at("a/other.txt"));
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({ resources: [{ location: "a", strategy: "overlay" }] });
    writeFileSync(join(await drydock.plans.path(plan.id), "old.txt"), "changed\n");
    const read = await drydock.plans.read(plan.id, "a", "other.txt");
    await drydock.plans.cancel(plan.id);
    assert.equal(Buffer.from(read).toString(), "changed\n");
  });

  // Came from: a second mount of the same layers was made, and what was done in one was not seen in the
  // other.
  it("[O4] is not mounted twice, and who has it is named", { skip: NEEDS_ROOT }, async () => {
    using stage = new Stage("root");
    assert.equal(stage.drydock(["run", "--keep", "--", "touch", "new"]).status, 0);
    const [plan] = stage.answer("plan", "list").plans;
    const script = `"$DRYDOCK" plan path ${plan.id} && read -r _`;
    const args = ["--mount", "--propagation", "private", "sh", "-c", script];
    const elsewhere = new Running(spawn("unshare", args, { env: stage.environment, stdio: "pipe" }));
    await elsewhere.until(() => elsewhere.stdout.includes("merged"));
    const { status, stderr } = stage.drydock(["plan", "path", plan.id]);
    elsewhere.input("\n");
    await elsewhere.ended();
    assert.equal(status, 1);
    assert.match(stderr, /is mounted in another namespace, for sh \(pid \d+\)/);
    stage.done("plan", "path", plan.id);
    stage.done("plan", "cancel", plan.id);
  });

  // Came from: while a sandbox was emptied nothing said how it is mounted, so one that a crash interrupted
  // became the kernel's.
  it("[L2] is mounted as before after a rollback that was interrupted", { skip: BY_FUSE.skip }, async () => {
    await using workshop = new Workshop();
    const plan = await fusePlan(await openWithFuse(workshop));
    const interrupted = await openWithFuse(workshop, { DRYDOCK_FAILPOINT: "overlay.finish=error" });
    await assert.rejects(interrupted.plans.rollback(plan.id), /overlay\.finish/);
    const next = await openWithFuse(workshop);
    await next.plans.rollback(plan.id);
    const path = await next.plans.path(plan.id);
    const type = execFileSync("stat", ["-f", "-c", "%T", path], { encoding: "utf8" });
    await next.plans.cancel(plan.id);
    assert.equal(type, "fuseblk\n");
  });

  // Came from: a mount whose process had died was given out as if it were one.
  it("[O4] is mounted anew when the process of its mount has died", { skip: BY_FUSE.skip }, async () => {
    await using workshop = new Workshop();
    const drydock = await openWithFuse(workshop);
    const plan = await fusePlan(drydock);
    const path = await drydock.plans.path(plan.id);
    for (const pid of serversOf(path)) process.kill(pid, "SIGKILL");
    await drydock.plans.write(plan.id, "a", "old.txt", Buffer.from("written\n"));
    assert.equal(await drydock.plans.path(plan.id), path);
    assert.equal(readFileSync(join(path, "old.txt"), "utf8"), "written\n");
    await drydock.plans.apply(plan.id);
    assert.equal(workshop.text("a/old.txt"), "written\n");
  });

  // Came from: a program that renames the folder above its sandbox, and puts a link there, had writes land
  // where the link led to.
  it("[X1] is not taken for what is found in its place", async () => {
    await using workshop = new Workshop();
    mkdirSync(workshop.at("a/project"));
    const mount = {
      pid: process.pid,
      command: "",
      mountPoint: workshop.at("a/project"),
      isOurs: true,
      isReadOnly: false,
    };
    assert.equal(openLiveMount({ ...mount, device: "0:1" }), undefined);
    assert.equal(openLiveMount({ ...mount, mountPoint: workshop.at("a/gone"), device: "0:1" }), undefined);
  });
});

async function openWithFuse(workshop: Workshop, environment: NodeJS.ProcessEnv = {}): Promise<Services> {
  return await workshop.open([], {
    environment,
    strategies: [(context) => new OneWayOverlay(context, ["fuse"])],
  });
}

function fusePlan(drydock: Services) {
  return drydock.plans.create({ resources: [{ location: "a", strategy: "overlay_in_one_way" }] });
}

/** The processes of fuse-overlayfs that have this folder open, which is under their mount. */
function serversOf(path: string): number[] {
  const isServer = (pid: string) =>
    readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("fuse-overlayfs") &&
    readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === path);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && ignoringGone(() => isServer(name)))
    .map(Number);
}

function ignoringGone(look: () => boolean): boolean {
  try {
    return look();
  } catch {
    return false;
  }
}

describe("Folders that were deleted and made again as they were", { skip: NEEDS_ROOT }, () => {
  // Came from: only the outermost of them got the time that it had in the sandbox.
  it("[A11] land with their times, the inner ones too", () => {
    using stage = new Stage("root");
    mkdirSync(join(stage.project, "outer/inner"), { recursive: true });
    const script =
      "rm -r outer && mkdir -p outer/inner && touch -d 1999-12-31T23:59:58Z outer/inner; rm a.txt";
    stage.drydock(["run", "--apply", "--", "sh", "-c", script]);
    assert.equal(
      statSync(join(stage.project, "outer/inner")).mtime.toISOString(),
      "1999-12-31T23:59:58.000Z",
    );
  });
});

describe("A file with several names", { skip: NEEDS_ROOT }, () => {
  // Came from: without a mount only the name that was written got the new content, and the others kept the
  // old one.
  it("[A11] keeps them together when it is written without a mount", async () => {
    await using workshop = new Workshop();
    mkdirSync(workshop.at("a/sub"));
    linkSync(workshop.at("a/old.txt"), workshop.at("a/sub/again"));
    const drydock = await workshop.open();
    const { id } = await drydock.plans.create({ resources: [{ location: "a" }], withoutPaths: true });
    await drydock.plans.write(id, "a", "old.txt", Buffer.from("through one name\n"));
    assert.equal(
      Buffer.from(await drydock.plans.read(id, "a", "sub/again")).toString(),
      "through one name\n",
    );
    await drydock.plans.apply(id);
    assert.equal(workshop.text("a/sub/again"), "through one name\n");
    assert.equal(statSync(workshop.at("a/old.txt")).ino, statSync(workshop.at("a/sub/again")).ino);
  });
});

describe("A command", { skip: NEEDS_ROOT }, () => {
  // Came from: the programs that put a command inside loaded what an earlier command had left in a sandbox of
  // /etc.
  for (const folder of ["/etc", "/usr", "/usr/lib"]) {
    it(`is run with ${folder} in a sandbox, because nothing of it is loaded before all privileges are gone`, () => {
      using stage = new Stage("root");
      const probe = join(folder, "drydock-probe");
      const { status, stdout, stderr } = stage.drydock([
        ...["run", "--discard", "-r", folder, "--", "sh", "-c"],
        `echo inside > '${probe}' && cat '${probe}'`,
      ]);
      assert.deepEqual([status, stdout], [0, "inside\n"], stderr);
      assert.ok(!existsSync(probe));
    });
  }

  // Came from: everything that a command runs in the process group of Drydock could be ended by it, and the
  // group with it.
  it("[X7] can't end who started it by a signal to its process group", () => {
    using stage = new Stage("root");
    const { status } = stage.drydock(["run", "--discard", "--", "sh", "-c", "kill -9 0"]);
    assert.equal(status, 137);
    assert.deepEqual(stage.answer("plan", "list").plans, []);
  });
});
