import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { PlanDiff } from "../../src/index.ts";
import type { Services } from "../../src/services.ts";
import { Scene } from "./scene.ts";

const needsRoot = process.geteuid?.() === 0 ? {} : { skip: "not root, so no device can be made" };

describe("What gives power over the machine", () => {
  it("[A12] does not land from a sandbox, and the diff says so", needsRoot, async () => {
    await using scene = new Scene();
    const { drydock, plan, sandbox } = await scene.plan();
    makePowerful(sandbox);
    const diff = await drydock.plans.diff(plan.id);
    for (const path of ["setuid", "setgid", "deep/setuid", "file"])
      assert.match(warningsOf(diff, path), /set-id bits/, path);
    for (const path of ["device", "deep/device", "block"])
      assert.match(warningsOf(diff, path), /device/, path);
    assert.equal(warningsOf(diff, "shared-folder"), "");
    await drydock.plans.apply(plan.id);
    for (const path of ["setuid", "setgid", "deep/setuid"])
      assert.equal(lstatSync(scene.at(`original/${path}`)).mode & 0o7777, 0o755, path);
    assert.equal(lstatSync(scene.at("original/file")).mode & 0o6000, 0);
    for (const path of ["device", "deep/device", "block"])
      assert.equal(lstatSync(scene.at(`original/${path}`), { throwIfNoEntry: false }), undefined, path);
    assert.equal(
      lstatSync(scene.at("original/shared-folder")).mode & 0o7777,
      0o2775,
      "it only says which group",
    );
  });

  it("[A12] lands where the config allows it", needsRoot, async () => {
    await using scene = new Scene();
    writeFileSync(scene.at("drydock.yaml"), "sandbox: { allow_setid: true, allow_devices: true }\n");
    const { drydock, plan, sandbox } = await scene.plan({ config: scene.at("drydock.yaml") });
    makePowerful(sandbox);
    const diff = await drydock.plans.diff(plan.id);
    for (const { warnings, path } of diff.changes) assert.deepEqual(warnings ?? [], [], path);
    await drydock.plans.apply(plan.id);
    assert.equal(lstatSync(scene.at("original/setuid")).mode & 0o7777, 0o4755);
    assert.equal(lstatSync(scene.at("original/deep/setuid")).mode & 0o7777, 0o4755);
    assert.equal(lstatSync(scene.at("original/deep/device")).isCharacterDevice(), true);
    assert.equal(lstatSync(scene.at("original/block")).isBlockDevice(), true);
  });

  it(
    "[A12] that the original had stays where it was not changed, and goes where the content is another",
    needsRoot,
    async () => {
      await using scene = new Scene();
      for (const name of ["kept", "rewritten"]) {
        writeFileSync(scene.at(`original/${name}`), "program\n");
        chmodSync(scene.at(`original/${name}`), 0o4755);
      }
      const { drydock, plan, sandbox } = await scene.plan();
      writeFileSync(join(sandbox, "rewritten"), "another program\n");
      chmodSync(join(sandbox, "rewritten"), 0o4755);
      await drydock.plans.apply(plan.id);
      assert.equal(lstatSync(scene.at("original/kept")).mode & 0o7777, 0o4755);
      assert.equal(lstatSync(scene.at("original/rewritten")).mode & 0o7777, 0o755);
      await drydock.plans.undo(plan.id);
      assert.equal(lstatSync(scene.at("original/rewritten")).mode & 0o7777, 0o4755);
    },
  );
});

describe("Fifos, sockets and devices", () => {
  it("[D5] hang and crash nothing: create, diff, patch, read, write, apply, undo", {
    timeout: 60_000,
  }, async () => {
    await using scene = new Scene();
    execFileSync("mkfifo", [scene.at("original/fifo"), scene.at("original/goes")]);
    const server = createServer().listen(scene.at("original/socket"));
    try {
      await new Promise((resolve) => server.once("listening", resolve));
      const { drydock, plan, sandbox } = await scene.plan();
      execFileSync("mkfifo", [join(sandbox, "new-fifo")]);
      execFileSync("rm", [join(sandbox, "goes"), join(sandbox, "file")]);
      execFileSync("mkfifo", [join(sandbox, "file")]);
      const diff = await drydock.plans.diff(plan.id);
      assert.deepEqual(
        diff.changes.map(({ path, operation, kind }) => `${path} ${operation} ${kind}`),
        ["file typechanged fifo", "goes deleted fifo", "new-fifo added fifo"],
      );
      assert.ok((await patchOf(drydock, plan.id)).length > 0);
      for (const path of ["fifo", "new-fifo", "socket"]) {
        await assert.rejects(drydock.plans.read(plan.id, "original", path));
        await assert.rejects(drydock.plans.write(plan.id, "original", path, Buffer.from("x")));
      }
      await drydock.plans.apply(plan.id);
      assert.equal(lstatSync(scene.at("original/new-fifo")).isFIFO(), true);
      assert.equal(lstatSync(scene.at("original/file")).isFIFO(), true);
      await drydock.plans.undo(plan.id);
      assert.equal(lstatSync(scene.at("original/file")).isFile(), true);
      assert.equal(lstatSync(scene.at("original/goes")).isFIFO(), true);
    } finally {
      server.close();
    }
  });
});

function makePowerful(sandbox: string): void {
  mkdirSync(join(sandbox, "deep"));
  for (const [path, mode] of [
    ["setuid", 0o4755],
    ["setgid", 0o2755],
    ["deep/setuid", 0o4755],
  ] as const) {
    writeFileSync(join(sandbox, path), "program\n");
    chmodSync(join(sandbox, path), mode);
  }
  chmodSync(join(sandbox, "file"), 0o6755);
  mkdirSync(join(sandbox, "shared-folder"));
  chmodSync(join(sandbox, "shared-folder"), 0o2775);
  for (const path of ["device", "deep/device"]) execFileSync("mknod", [join(sandbox, path), "c", "1", "3"]);
  execFileSync("mknod", [join(sandbox, "block"), "b", "7", "200"]);
}

function warningsOf(diff: PlanDiff, path: string): string {
  return (diff.changes.find((change) => change.path === path)?.warnings ?? []).join();
}

async function patchOf(drydock: Services, plan: string): Promise<string> {
  let text = "";
  for await (const piece of drydock.plans.patch(plan)) text += piece;
  return text;
}
