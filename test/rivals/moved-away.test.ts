import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openServices } from "../../src/runtime.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { DrydockProcess, lastError, lastResult } from "./drydock-process.ts";

const needsRoot = process.geteuid?.() === 0 ? false : "not root, so nothing can be mounted";

/** When the rival moves the folder away. */
const AWAY = {
  "before the base is noted": "overlay.unmount",
  "before the layers are compared": "overlay.mark-left",
} as const;
/** The first step after the layers are compared, and before the changes are judged. */
const COMPARED = "landings.create:1";

/** What the plan does to the folder. Nothing else in it shows that something was deleted. */
const DELETIONS: readonly (readonly [title: string, path: string, work: (at: string) => void])[] = [
  ["a deleted file", "folder/file", (at) => rmSync(join(at, "folder/file"))],
  ["a deleted folder", "folder/inner", (at) => rmSync(join(at, "folder/inner"), { recursive: true })],
  [
    "an emptied folder",
    "folder/inner",
    (at) => {
      rmSync(join(at, "folder/inner"), { recursive: true });
      mkdirSync(join(at, "folder/inner"));
    },
  ],
];

/** A plan with an overlay, and a rival that moves a folder of the original away while the plan is applied. */
class MovedFolder {
  readonly base = mkdtempSync(join(tmpdir(), "drydock-moved-away-"));
  readonly original = join(this.base, "original");
  readonly #stateDir = join(this.base, "state");
  planId = "";

  static async begin(work: (sandbox: string) => void): Promise<MovedFolder> {
    const scene = new MovedFolder();
    mkdirSync(join(scene.original, "folder/inner"), { recursive: true });
    for (const path of ["folder/file", "folder/inner/file"]) writeFileSync(join(scene.original, path), "old");
    const drydock = await openServices({ stateDir: scene.#stateDir, cwd: scene.base, environment: {} });
    const plan = await drydock.plans.create({ resources: [{ location: "original", strategy: "overlay" }] });
    scene.planId = plan.id;
    const sandbox = await drydock.plans.path(plan.id);
    work(sandbox);
    writeFileSync(join(sandbox, "added"), "new");
    await drydock.close();
    return scene;
  }

  /** Starts an apply, and stops it where the folder goes away and where it is judged. */
  apply(away: string): DrydockProcess {
    return new DrydockProcess(
      { stateDir: this.#stateDir, calls: [["apply", this.planId]] },
      { failpoint: `${away}=stop,${COMPARED}=stop` },
    );
  }

  moveAway(): void {
    renameSync(join(this.original, "folder"), join(this.base, "away"));
  }

  moveBack(): void {
    renameSync(join(this.base, "away"), join(this.original, "folder"));
  }

  [Symbol.dispose](): void {
    removeFolder(this.base);
  }
}

describe("A folder that is away while the layers of an overlay are compared", { skip: needsRoot }, () => {
  for (const [what, path, work] of DELETIONS) {
    it(`[A15] ${what} in it lands if the folder is back in time`, async () => {
      using scene = await MovedFolder.begin(work);
      await using apply = scene.apply(AWAY["before the layers are compared"]);
      await apply.mustStop();
      scene.moveAway();
      apply.goOn();
      await apply.mustStop();
      scene.moveBack();
      apply.goOn();
      lastResult(await apply.ends());
      const deleted = join(scene.original, path);
      assert.ok(!existsSync(deleted) || readdirSync(deleted).length === 0);
      assert.ok(existsSync(join(scene.original, "added")));
    });

    for (const [when, point] of Object.entries(AWAY))
      it(`[A15] ${what} in it is named if the folder went ${when} and stays away`, async () => {
        using scene = await MovedFolder.begin(work);
        await using apply = scene.apply(point);
        await apply.mustStop();
        scene.moveAway();
        apply.goOn();
        await apply.mustStop();
        apply.goOn();
        const { details } = lastError(await apply.ends());
        const conflicts = details["conflicts"] as readonly { readonly path: string }[];
        assert.deepEqual(
          conflicts.map((conflict) => conflict.path),
          [path],
        );
        scene.moveBack();
        assert.deepEqual(readdirSync(scene.original), ["folder"]);
      });
  }
});
