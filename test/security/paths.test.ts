import assert from "node:assert/strict";
import {
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Services } from "../../src/services.ts";
import { Mailbox } from "../commit/mailbox.ts";
import { reversible } from "../commit/workshop.ts";
import { DrydockProcess } from "../rivals/drydock-process.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";
import { Scene } from "./scene.ts";

const BAD_PATHS = [
  "..",
  "../outside/secret",
  "folder/../../outside/secret",
  "./../outside/secret",
  "/etc/passwd",
  "//etc/passwd",
  "folder/..",
  "folder/./inner",
  "folder//inner",
  "",
  "fi\0le",
  "x".repeat(256),
  "../".repeat(50),
];

describe("A path", () => {
  for (const path of BAD_PATHS) {
    it(`[X1] ${JSON.stringify(path.slice(0, 40))} is refused by read and write, and nothing is made`, async () => {
      await using scene = new Scene();
      const { drydock, plan, sandbox } = await scene.plan();
      const before = [snapshotTree(sandbox), snapshotTree(scene.at("outside"))] as const;
      await assert.rejects(drydock.plans.read(plan.id, "original", path), { code: "BAD_PATH" });
      await assert.rejects(drydock.plans.write(plan.id, "original", path, Buffer.from("x")), {
        code: "BAD_PATH",
      });
      assertSameTree(snapshotTree(sandbox), before[0], "the sandbox");
      assertSameTree(snapshotTree(scene.at("outside")), before[1], "outside");
    });
  }

  it("[X1] that is bad never reaches somebody else's strategy", async () => {
    await using scene = new Scene();
    writeFileSync(scene.at("mail"), "");
    const seen: string[] = [];
    class Curious extends Mailbox {
      override async read(...[ref, path]: Parameters<Mailbox["read"]>): Promise<Uint8Array> {
        seen.push(path);
        return await super.read(ref, path);
      }
      override async write(...[ref, path, bytes]: Parameters<Mailbox["write"]>) {
        seen.push(path);
        return await super.write(ref, path, bytes);
      }
    }
    const drydock = await scene.open({ strategies: [(context) => new Curious(context, reversible())] });
    const plan = await drydock.plans.create({
      resources: [{ location: "mail", type: "mailbox", strategy: "reversible_mail" }],
    });
    for (const path of BAD_PATHS) {
      await assert.rejects(drydock.plans.read(plan.id, "mail", path), { code: "BAD_PATH" });
      await assert.rejects(drydock.plans.write(plan.id, "mail", path, Buffer.from("x")), {
        code: "BAD_PATH",
      });
    }
    assert.deepEqual(seen, []);
  });
});

describe("A link that somebody planted", () => {
  for (const [what, plant] of Object.entries({
    "a folder": (at: string, scene: Scene) => {
      rmSync(join(at, "folder"), { recursive: true });
      symlinkSync(scene.at("outside"), join(at, "folder"));
    },
    "a folder, relative": (at: string) => {
      rmSync(join(at, "folder"), { recursive: true });
      symlinkSync("../../../../outside", join(at, "folder"));
    },
    "a file": (at: string, scene: Scene) => {
      rmSync(join(at, "file"));
      symlinkSync(scene.at("outside/secret"), join(at, "file"));
    },
  })) {
    it(`[X1] in the sandbox in place of ${what} is not followed, by nothing, and lands as the link it is`, async () => {
      await using scene = new Scene();
      const { drydock, plan, sandbox } = await scene.plan();
      plant(sandbox, scene);
      const outside = snapshotTree(scene.at("outside"));
      const path = what === "a file" ? "file" : "folder/inner";
      await assert.rejects(drydock.plans.read(plan.id, "original", path));
      await assert.rejects(drydock.plans.write(plan.id, "original", path, Buffer.from("x")));
      assert.doesNotMatch(JSON.stringify(await drydock.plans.diff(plan.id)), /secret\\n/);
      assert.doesNotMatch(await patchOf(drydock, plan.id), /^[+-]secret$/m);
      await drydock.plans.apply(plan.id);
      assert.equal(lstatSync(scene.at(`original/${path.split("/")[0]}`)).isSymbolicLink(), true);
      assertSameTree(snapshotTree(scene.at("outside")), outside, "outside");
      await drydock.plans.undo(plan.id);
      assert.equal(
        readFileSync(scene.at(`original/${path}`), "utf8"),
        what === "a file" ? "file\n" : "inner\n",
      );
      assertSameTree(snapshotTree(scene.at("outside")), outside, "outside");
    });
  }

  it("[X1] in the original in place of a folder stops the commit, and nothing is written behind it", async () => {
    await using scene = new Scene();
    const { drydock, plan } = await scene.plan();
    await drydock.plans.write(plan.id, "original", "folder/inner", Buffer.from("planned\n"));
    await drydock.plans.write(plan.id, "original", "folder/added", Buffer.from("planned\n"));
    rmSync(scene.at("original/folder"), { recursive: true });
    symlinkSync(scene.at("outside"), scene.at("original/folder"));
    const outside = snapshotTree(scene.at("outside"));
    await assert.rejects(drydock.plans.apply(plan.id), { code: "ATOMIC_COMMIT" });
    assertSameTree(snapshotTree(scene.at("outside")), outside, "outside");
    assert.equal(readlinkSync(scene.at("original/folder")), scene.at("outside"));
  });

  it("[X1] in the original in place of the original itself stops the commit", async () => {
    await using scene = new Scene();
    const { drydock, plan } = await scene.plan();
    await drydock.plans.write(plan.id, "original", "secret", Buffer.from("planned\n"));
    renameSync(scene.at("original"), scene.at("elsewhere"));
    symlinkSync(scene.at("outside"), scene.at("original"));
    const outside = snapshotTree(scene.at("outside"));
    await assert.rejects(drydock.plans.apply(plan.id), { code: "ATOMIC_COMMIT" });
    assertSameTree(snapshotTree(scene.at("outside")), outside, "outside");
  });

  for (const point of [
    "stage.record:1",
    "stage.take-out:1",
    "stage.take-out:2",
    "stage.folder-times:1",
    "stage.manifest:1",
  ]) {
    it(`[X1] in the sandbox in the middle of an apply, at ${point}, takes nothing from outside and harms nothing there`, async () => {
      await using scene = new Scene();
      const { drydock, plan, sandbox } = await scene.plan();
      await drydock.plans.write(plan.id, "original", "file", Buffer.from("planned\n"));
      await drydock.plans.write(plan.id, "original", "folder/inner", Buffer.from("planned\n"));
      mkdirSync(join(sandbox, "new"));
      writeFileSync(join(sandbox, "new", "secret"), "planned\n");
      await drydock.close();
      const outside = snapshotTree(scene.at("outside"));
      await using child = new DrydockProcess(
        { stateDir: scene.stateDir, calls: [["apply", plan.id]] },
        { failpoint: `${point}=stop` },
      );
      await child.mustStop();
      for (const folder of ["folder", "new"]) {
        removeFolder(join(sandbox, folder));
        symlinkSync(scene.at("outside"), join(sandbox, folder));
      }
      child.goOn();
      await child.ends();
      assertSameTree(snapshotTree(scene.at("outside")), outside, "outside");
      const again = await scene.open();
      assert.deepEqual(again.recovery.pending, []);
      for (const [path, line] of snapshotTree(scene.at("original")))
        if (line.startsWith("file"))
          assert.notEqual(readFileSync(scene.at(`original/${path}`), "utf8"), "secret\n", path);
    });
  }
});

async function patchOf(drydock: Services, plan: string): Promise<string> {
  let text = "";
  for await (const piece of drydock.plans.patch(plan)) text += piece;
  return text;
}
