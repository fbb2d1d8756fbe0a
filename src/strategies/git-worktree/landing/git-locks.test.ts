import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { BusyError } from "../../../core/errors/errors.ts";
import type { Checkout } from "../checkout/checkout.ts";
import {
  fillLock,
  isHeld,
  isMoved,
  makeLocks,
  moveLock,
  releaseLocks,
  removeUnrecorded,
  takeLocks,
} from "./git-locks.ts";

describe("Locks of git's that are held across crashes", () => {
  let gitDir: string;
  let checkout: Checkout;

  beforeEach(() => {
    gitDir = mkdtempSync(join(tmpdir(), "drydock-locks-"));
    checkout = { root: gitDir, gitDir, commonDir: gitDir, objectFormat: "sha1" };
    for (const name of ["HEAD", "index"]) writeFileSync(join(gitDir, name), `${name}\n`, { mode: 0o640 });
  });

  afterEach(() => rmSync(gitDir, { recursive: true, force: true }));

  const names = () => readdirSync(gitDir, { recursive: true }).map(String).sort();

  it("are in their places while they are held, and gone afterwards", async () => {
    const locks = makeLocks(checkout, ["refs/heads/a/b"], "t1");
    assert.deepEqual(locks.map(isHeld), [false, false, false]);
    await takeLocks(locks);
    await takeLocks(locks);
    assert.deepEqual(locks.map(isHeld), [true, true, true]);
    assert.ok(["HEAD.lock", "index.lock", "refs/heads/a/b.lock"].every((name) => names().includes(name)));
    releaseLocks(locks);
    releaseLocks(locks);
    assert.deepEqual(names(), ["HEAD", "index", "refs", "refs/heads", "refs/heads/a"]);
  });

  it("take the place of what they lock, with its mode", async () => {
    const [index, head] = makeLocks(checkout, ["HEAD"], "t1");
    assert.ok(index !== undefined && head !== undefined);
    await takeLocks([index, head]);
    for (const text of ["longer than before", "new"]) fillLock(index, Buffer.from(text));
    assert.equal(readFileSync(join(gitDir, "index"), "utf8"), "index\n");
    moveLock(index, [1_500_000_000, 0]);
    assert.equal(readFileSync(join(gitDir, "index"), "utf8"), "new");
    assert.equal(statSync(join(gitDir, "index")).mode & 0o777, 0o640);
    assert.equal(statSync(join(gitDir, "index")).mtimeMs, 1_500_000_000_000);
    assert.deepEqual([isMoved(index), isHeld(index), isHeld(head)], [true, false, true]);
    releaseLocks([index, head]);
    assert.deepEqual(names(), ["HEAD", "index"]);
  });

  it("of another process are waited for, refused, and never removed", async () => {
    writeFileSync(join(gitDir, "HEAD.lock"), "theirs");
    const locks = makeLocks(checkout, ["HEAD"], "t1");
    await assert.rejects(takeLocks(locks), BusyError);
    releaseLocks(locks);
    assert.equal(readFileSync(join(gitDir, "HEAD.lock"), "utf8"), "theirs");
    assert.deepEqual(names(), ["HEAD", "HEAD.lock", "index"]);
    const patient = makeLocks(checkout, ["HEAD"], "t2");
    const taken = takeLocks(patient);
    await sleep(100);
    rmSync(join(gitDir, "HEAD.lock"));
    await taken;
    assert.deepEqual(patient.map(isHeld), [true, true]);
  });

  it("that no record names are removed before they become locks", () => {
    makeLocks(checkout, ["refs/heads/x"], "t1");
    mkdirSync(join(gitDir, "refs"));
    removeUnrecorded(checkout, "t1");
    assert.deepEqual(names(), ["HEAD", "index", "refs"]);
    rmSync(gitDir, { recursive: true });
    removeUnrecorded(checkout, "t1");
    assert.equal(existsSync(gitDir), false);
  });
});
