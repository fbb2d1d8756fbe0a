import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openServices } from "../../src/runtime.ts";
import { removeFolder } from "../support/remove-folder.ts";

const LOOKS = "openat,openat2,statx,newfstatat,getdents64,readlinkat,llistxattr,listxattr,lgetxattr,getxattr";
const needsRoot = process.geteuid?.() === 0 ? false : "not root, so nothing can be mounted";

/**
 * Makes an original of this size, changes the same few things in an overlay over it, and returns the calls of
 * a diff that look at either.
 */
async function looksOfDiff(folders: number, isMounted: boolean): Promise<readonly string[]> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "drydock-overlay-cost-")));
  const [original, stateDir, trace] = [join(base, "original"), join(base, "state"), join(base, "trace")];
  try {
    for (let folder = 0; folder < folders; folder += 1) {
      mkdirSync(join(original, `folder-${folder}`, "deep"), { recursive: true });
      for (let file = 0; file < 10; file += 1)
        writeFileSync(join(original, `folder-${folder}`, "deep", `${file}`), "old\n");
    }
    const drydock = await openServices({ stateDir, cwd: base, environment: {} });
    const resources = [{ location: original, strategy: "overlay" }];
    const { id } = await drydock.plans.create({ resources, withoutPaths: true });
    const { ref } = await drydock.sandboxes.getOrCreate(id, "original");
    const { strategy } = await drydock.registry.resolve(ref.strategyName);
    const view = await strategy.enter?.(ref);
    const sandbox = view?.kind === "place" ? view.path : assert.fail("it is not mounted");
    for (const folder of [0, 1, 2]) writeFileSync(join(sandbox, `folder-${folder}`, "deep", "3"), "new\n");
    writeFileSync(join(sandbox, "folder-0", "added"), "new\n");
    rmSync(join(sandbox, "folder-1", "deep", "4"));
    if (!isMounted) await strategy.leave?.(ref);
    await drydock.close();
    const program = join(import.meta.dirname, "diff-program.ts");
    const strace = ["-f", "-y", "-s", "200", "-e", `trace=${LOOKS}`, "-o", trace];
    const { NODE_OPTIONS: _, NODE_V8_COVERAGE: __, NODE_TEST_CONTEXT: ___, ...env } = process.env;
    const end = spawnSync("strace", [...strace, process.execPath, program, stateDir, id], {
      env,
      encoding: "utf8",
    });
    assert.equal(end.stdout, "5\n", end.stderr);
    const isLook = (line: string) => line.includes(original) || line.includes("/upper");
    return readFileSync(trace, "latin1").split("\n").filter(isLook);
  } finally {
    removeFolder(base);
  }
}

describe("The cost of a diff with an overlay", { skip: needsRoot }, () => {
  for (const isMounted of [true, false])
    it(`[D6] does not depend on the size of the original ${isMounted ? "while programs are inside" : "when they have ended"}`, async (t) => {
      const [few, many] = [await looksOfDiff(4, isMounted), await looksOfDiff(100, isMounted)];
      t.diagnostic(`${few.length} calls with 40 files, ${many.length} with 1,000`);
      assert.ok(few.length > 5, "nothing was traced");
      assert.equal(many.length, few.length);
      const strangers = many.filter((line) => /folder-(?:[3-9]|\d\d)\b/.test(line));
      assert.deepEqual(strangers, [], "looked at what nobody changed");
    });
});
