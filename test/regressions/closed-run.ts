import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";
import { OverlayStrategy } from "../../src/strategies/overlay/overlay.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { contextIn } from "../support/strategy-context.ts";

/**
 * Runs as a user without privilege, over `overlay` mounted in one way: leaves what its own user may not look
 * into, and goes through the life of the sandbox.
 */
const [way = ""] = process.argv.slice(2);
const base = mkdtempSync(join(tmpdir(), "drydock-closed-run-"));
const original = join(base, "w");
const planId = "01M7KMCRWVR62EM9RHYB8TK65N";
const transaction = { id: "01M7KMCRWVR62EM9RHYB8TK65T", planId, direction: "commit" as const };
const modeOf = (path: string) => lstatSync(join(original, path)).mode & 0o777;

function work(path: string): void {
  writeFileSync(join(path, "d/f"), "x\ny\n");
  mkdirSync(join(path, "n/m"), { recursive: true });
  writeFileSync(join(path, "n/m/x"), "deep");
  chmodSync(join(path, "n/m"), 0);
  for (const name of ["n", "d"]) chmodSync(join(path, name), 0o600);
}

try {
  mkdirSync(join(original, "d"), { recursive: true });
  writeFileSync(join(original, "d/f"), "x\n");
  mkdirSync(join(base, "state"), { mode: 0o700 });
  const strategy = new OverlayStrategy(contextIn(join(base, "state")), [way as OverlayWay]);
  const id = "01M7KMCRWVR62EM9RHYB8TK65R";
  const ref = await strategy.create(planId, {
    id,
    name: "w",
    type: "fs-directory",
    location: original,
    properties: {},
  });
  const path = await strategy.path(ref);
  work(path);
  const { changes } = await strategy.diff(ref);
  assert.deepEqual(
    changes.map((change) => change.path),
    ["d", "d/f", "n", "n/m", "n/m/x"],
  );
  await strategy.checkpoint(ref, "one");
  await strategy.restoreCheckpoint(ref, "one");
  const prepared = await strategy.prepare(ref, transaction);
  assert.ok(prepared !== null);
  await strategy.commitPrepared(ref, transaction, prepared);
  assert.deepEqual([modeOf("d"), modeOf("n")], [0o600, 0o600]);
  await strategy.rollback(ref);
  assert.deepEqual([modeOf("d"), existsSync(join(original, "n"))], [0o755, false]);
  assert.equal(readFileSync(join(original, "d/f"), "utf8"), "x\n");
  work(await strategy.path(ref));
  await strategy.cleanup(ref);
  assert.equal(existsSync(path), false);
} finally {
  removeFolder(base);
}
