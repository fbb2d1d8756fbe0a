import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { armFailpoints } from "../failpoints.ts";
import { MachineOwners } from "./machine.ts";

describe("the owners of a process", () => {
  let stateDir: string;
  let owners: MachineOwners;
  const locks = () => readdirSync(join(stateDir, "owners"));

  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), "drydock-owners-"));
    owners = new MachineOwners(stateDir, "test");
  });

  afterEach(() => {
    armFailpoints(undefined);
    owners.close();
    rmSync(stateDir, { recursive: true, force: true });
  });

  it("[C5] count as alive until they are released, one by one or side by side, though the process goes on", () => {
    const [first, beside] = [owners.enter(), owners.enter()];
    first.release();
    const second = owners.enter();
    const all = [first, beside, second].map(({ owner }) => owner);
    assert.equal(new Set(all.map(({ id }) => id)).size, 3);
    const alive = () => all.map((owner) => new MachineOwners(stateDir, "other").isAlive(owner));
    assert.deepEqual(alive(), [false, true, true]);
    beside.release();
    second.release();
    assert.deepEqual(alive(), [false, false, false]);
  });

  it("take over one lock from one another, which is gone when they are closed", () => {
    for (const _ of [1, 2, 3]) owners.enter().release();
    assert.equal(locks().length, 1);
    owners.close();
    assert.deepEqual(locks(), []);
  });

  it("are dead after their release also where their lock can't be taken over", () => {
    armFailpoints("owner.reuse=error");
    const { owner, release } = owners.enter();
    release();
    assert.equal(owners.isAlive(owner), false);
    assert.deepEqual(locks(), []);
  });
});
