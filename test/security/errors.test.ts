import assert from "node:assert/strict";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { NO_HINT } from "../../src/core/errors/error-codes.ts";
import { DrydockError } from "../../src/index.ts";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import { Scene } from "./scene.ts";

/** Ways to fail, through the public interface. */
const FAILURES: {
  readonly [what: string]: (scene: Scene, drydock: Services, plan: string) => Promise<unknown>;
} = {
  "an unknown plan": (_scene, drydock) => drydock.plans.show("no-such-plan"),
  "an empty plan": (_scene, drydock) => drydock.plans.show(""),
  "an unknown resource": (_scene, drydock, plan) => drydock.plans.read(plan, "nothing", "file"),
  "a missing file": (_scene, drydock, plan) => drydock.plans.read(plan, "original", "no/such/file"),
  "a folder where a file is meant": (_scene, drydock, plan) => drydock.plans.read(plan, "original", "folder"),
  "a path that leads out": (_scene, drydock, plan) => drydock.plans.read(plan, "original", "../x"),
  "a missing resource": (_scene, drydock) =>
    drydock.plans.create({ resources: [{ location: "/no/such/place" }] }),
  "the root": (_scene, drydock) => drydock.plans.create({ resources: [{ location: "/" }] }),
  "an unknown strategy": (_scene, drydock) =>
    drydock.plans.create({ resources: [{ location: "outside", strategy: "x" }] }),
  "a long path": (_scene, drydock) =>
    drydock.plans.create({ resources: [{ location: `/${"x/".repeat(2500)}` }] }),
  "a conflict": async (scene, drydock, plan) => {
    await drydock.plans.write(plan, "original", "file", Buffer.from("planned\n"));
    writeFileSync(scene.at("original/file"), "mine\n");
    await drydock.plans.apply(plan);
  },
  "an original that is gone": async (scene, drydock, plan) => {
    await drydock.plans.write(plan, "original", "file", Buffer.from("planned\n"));
    rmSync(scene.at("original"), { recursive: true });
    await drydock.plans.apply(plan);
  },
  "a sandbox that is gone": async (_scene, drydock, plan) => {
    rmSync(await drydock.plans.path(plan), { recursive: true });
    await drydock.plans.apply(plan);
  },
  "a digest that differs": (_scene, drydock, plan) => drydock.plans.apply(plan, { digest: "0" }),
  "an undo of what is not applied": (_scene, drydock, plan) => drydock.plans.undo(plan),
  "a settling of nothing": (_scene, drydock, plan) => drydock.settle(plan, "commit"),
  "a corrupt state directory": async (scene, drydock) => {
    await drydock.close();
    for (const name of ["drydock.db", "drydock.db-wal"])
      writeFileSync(scene.at(`state/${name}`), "garbage".repeat(999));
    await openServices({ stateDir: scene.stateDir, environment: {} });
  },
  "a state directory that is a file": (scene) =>
    openServices({ stateDir: scene.at("original/file"), environment: {} }),
  "a state directory that others can write": async (scene) => {
    mkdirSync(scene.at("open-state"));
    chmodSync(scene.at("open-state"), 0o777);
    await openServices({ stateDir: scene.at("open-state"), environment: {} });
  },
  "broken YAML": async (scene) => {
    writeFileSync(scene.at("drydock.yaml"), "sandbox: [\n");
    await openServices({ stateDir: scene.stateDir, config: scene.at("drydock.yaml"), environment: {} });
  },
};

describe("An error", () => {
  for (const [what, fail] of Object.entries(FAILURES)) {
    it(`[X4] for ${what} says what happened and what to do, and is wrapped at most once`, async () => {
      await using scene = new Scene();
      const { drydock, plan } = await scene.plan();
      const error = await fail(scene, drydock, plan.id).then(
        () => assert.fail("it succeeded"),
        (thrown: unknown) => thrown,
      );
      assert.ok(error instanceof DrydockError, String(error));
      assert.ok(error.message.length > 10 && error.hint.length > 10, error.message);
      assert.notEqual(error.hint, NO_HINT, "it says what to do");
      assert.match(error.code, /^[A-Z_]+$/);
      assert.doesNotMatch(error.message, /^\s+at |node:internal|undefined|\[object/m);
      const ours = chainOf(error).filter((link) => link instanceof DrydockError);
      const types = ours.map(({ name }) => name);
      assert.equal(new Set(types).size, types.length, `wrapped twice: ${types.join(" > ")}`);
      for (const inner of chainOf(error).slice(1))
        assert.ok(error.message.split(inner.message).length <= 2, `says it twice: ${error.message}`);
    });
  }
});

function chainOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...chainOf(error.cause)] : [];
}
