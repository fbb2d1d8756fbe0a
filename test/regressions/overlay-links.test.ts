import assert from "node:assert/strict";
import {
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";
import { systemProgram } from "../../src/system/process/programs.ts";
import { whyNoFuse } from "../support/file-systems.ts";
import { OneWayOverlay } from "../support/one-way-overlay.ts";
import { loseMounts, removeFolder } from "../support/remove-folder.ts";

const needsRoot = process.geteuid?.() === 0 ? false : "not root, so nothing can be mounted";
const needsFuse =
  whyNoFuse() ?? (systemProgram("fuse-overlayfs") === undefined ? "no fuse-overlayfs here" : false);
const NAMES = ["names/first", "names/second", "other/third"] as const;
const SKIPS: readonly (readonly [OverlayWay, string | false])[] = [
  ["kernel", needsRoot],
  ["fuse", needsFuse],
];

describe("A file with several names, changed through one of them", () => {
  let base = "";
  let original = "";
  let drydock: Services;

  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), "drydock-overlay-links-"));
    original = join(base, "original");
    for (const folder of ["names", "other"]) mkdirSync(join(original, folder), { recursive: true });
    writeFileSync(join(original, NAMES[0]), "old\n");
    for (const name of NAMES.slice(1)) linkSync(join(original, NAMES[0]), join(original, name));
  });

  afterEach(async () => {
    await drydock.close();
    removeFolder(base);
  });

  async function planIn(way: OverlayWay): Promise<{ readonly id: string; readonly path: string }> {
    const strategies = [
      (context: ConstructorParameters<typeof OneWayOverlay>[0]) => new OneWayOverlay(context, [way]),
    ];
    drydock = await openServices({ stateDir: join(base, "state"), cwd: base, environment: {}, strategies });
    const resources = [{ location: original, strategy: "overlay_in_one_way" }];
    const { id } = await drydock.plans.create({ resources });
    return { id, path: await drydock.plans.path(id) };
  }

  const texts = (folder: string, names: readonly string[] = NAMES) =>
    names.map((name) => readFileSync(join(folder, name), "utf8"));
  const changed = NAMES.map(() => "new\n");

  for (const [way, skip] of SKIPS) {
    it(`[A11] lands under all of them, as programs saw it (${way})`, { skip }, async () => {
      const { id, path } = await planIn(way);
      writeFileSync(join(path, NAMES[0]), "new\n");
      assert.deepEqual(texts(path), changed);
      const { changes } = await drydock.plans.diff(id);
      assert.deepEqual(
        changes.map((change) => `${change.operation} ${change.path} ${change.insertions}`),
        NAMES.map((name) => `modified ${name} 1`),
      );
      await drydock.plans.apply(id);
      assert.deepEqual(texts(original), changed);
      assert.equal(new Set(NAMES.map((name) => statSync(join(original, name)).ino)).size, 1);
    });

    it(`[A11] is still changed under all of them after the mount was lost, as by a restart (${way})`, {
      skip,
    }, async () => {
      const { id, path } = await planIn(way);
      writeFileSync(join(path, NAMES[0]), "new\n");
      loseMounts(base);
      assert.deepEqual(texts(await drydock.plans.path(id)), changed);
      await drydock.plans.apply(id);
      assert.deepEqual(texts(original), changed);
    });
  }

  it("[A11] is still changed under the others when that name is gone", { skip: needsRoot }, async () => {
    const { id, path } = await planIn("kernel");
    writeFileSync(join(path, NAMES[0]), "new\n");
    unlinkSync(join(path, NAMES[0]));
    await drydock.plans.apply(id);
    assert.deepEqual(texts(original, NAMES.slice(1)), ["new\n", "new\n"]);
  });

  it("[A15] is kept while another folder is in the place of the original", { skip: needsRoot }, async () => {
    const { id, path } = await planIn("kernel");
    writeFileSync(join(path, NAMES[0]), "new\n");
    loseMounts(base);
    renameSync(original, `${original}-aside`);
    cpSync(`${original}-aside`, original, { recursive: true });
    await assert.rejects(drydock.plans.path(id), /Another folder is in the place of the original/);
    rmSync(original, { recursive: true });
    renameSync(`${original}-aside`, original);
    assert.deepEqual(texts(await drydock.plans.path(id)), changed);
    await drydock.plans.apply(id);
    assert.deepEqual(texts(original), changed);
  });
});
