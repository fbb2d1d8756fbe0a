import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ACTORS, Stage } from "../run/stage.ts";
import { IS_LONG } from "../support/long-form.ts";
import { assertSameTree, snapshotTree, type TreeSnapshot } from "../support/tree-snapshot.ts";

/**
 * While a plan lands, with a delay at each step, a rival swaps a folder on the way for a link to a place
 * outside that looks the same, and back, all the time. Nothing may be written, removed or read there; and
 * what lands is all or nothing.
 */
const DELAYS = [
  "stage.take-out",
  "landings.flush-staged",
  "land.exchange",
  "land.add",
  "land.remove",
  "land.times",
]
  .map((point) => `${point}=delay`)
  .join(",");
const SECRET = "secret of the outside";
const CHANGE = `
  echo changed > folder/edited; rm folder/gone; echo added > folder/added; rm -rf folder/inner; mkdir folder/inner; echo new > folder/inner/new
  echo changed > edited`;

class SwappingStage extends Stage {
  readonly original = join(this.path, "parent/original");
  readonly outside = join(this.path, "outside");

  prepare(): this {
    for (const place of ["parent/original", "outside/original"])
      for (const path of ["edited", "folder/edited", "folder/gone", "folder/inner/old", "folder/kept"])
        this.write(join(place, path), `${place.startsWith("outside") ? SECRET : path}\n`);
    this.give();
    return this;
  }

  /** A plan with the change in it. */
  plan(): string {
    const id = this.done("plan", "create", "-r", this.original).trim();
    const { status, stderr } = this.drydock(["plan", "exec", id, "--", "sh", "-ec", CHANGE], { cwd: "/" });
    assert.equal(status, 0, stderr);
    return id;
  }

  /**
   * Lands the plan while the rival is at it, once a step has been reached; what he swapped is back in its
   * place afterwards.
   */
  async applyAgainst(id: string, victim: string, decoy: string, from: string) {
    const trace = this.write("trace", "");
    chmodSync(trace, 0o666);
    const apply = this.start(["plan", "apply", id], {
      DRYDOCK_FAILPOINT: DELAYS,
      DRYDOCK_FAILPOINT_TRACE: trace,
    });
    const ended = apply.ended();
    await apply.until(() => this.read("trace").includes(` ${from}`));
    let isOver = false;
    const rival = swapUntil(victim, decoy, () => isOver);
    const result = await ended;
    isOver = true;
    await rival;
    return result;
  }
}

/** Only for moments in between is it what it was. */
async function swapUntil(victim: string, decoy: string, isOver: () => boolean): Promise<void> {
  const away = `${victim}.away`;
  while (!isOver()) {
    try {
      renameSync(victim, away);
    } catch (thrown) {
      // It is just being taken out, or has been.
      if (!isMissing(thrown)) throw thrown;
      await sleep(1);
      continue;
    }
    try {
      symlinkSync(decoy, victim);
    } catch (thrown) {
      if (!isMissing(thrown)) throw thrown;
    }
    await sleep(7);
    // Who removes a sandbox removes that too.
    rmSync(victim, { force: true });
    if (existsSync(away)) renameSync(away, victim);
    await sleep(3);
  }
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
}

/** How each path of the change ended. */
function outcomes(scene: SwappingStage): { readonly [path: string]: "landed" | "untouched" } {
  const at = (path: string) => join(scene.original, path);
  const is = (hasLanded: boolean) => (hasLanded ? "landed" : "untouched");
  return {
    edited: is(scene.read("parent/original/edited") === "changed\n"),
    "folder/added": is(existsSync(at("folder/added"))),
    "folder/edited": is(scene.read("parent/original/folder/edited") === "changed\n"),
    "folder/gone": is(!existsSync(at("folder/gone"))),
    "folder/inner": is(readdirSync(at("folder/inner"))[0] === "new"),
  };
}

/**
 * All landed or none, once nothing disturbs, but for paths that the rival kept from landing at the last
 * moment: the apply, or the recovery that finished it, names them, and what was to come is kept.
 */
function landedOrNot(scene: SwappingStage, before: TreeSnapshot, stderr: string): "landed" | "untouched" {
  const said = stderr + scene.drydock(["recover"]).stderr;
  const named = [...said.matchAll(/^attention: original\/(\S+): .*?(?:kept at (\S+))?$/gm)];
  for (const [, path, kept] of named)
    assert.ok(kept === undefined ? path === "folder/gone" : existsSync(kept), path);
  const paths = named.map(([, path]) => path);
  const others = Object.entries(outcomes(scene)).filter(([path]) => !paths.includes(path));
  const outcome = others[0]?.[1] ?? "landed";
  assert.deepEqual(
    others,
    others.map(([path]) => [path, outcome]),
  );
  if (outcome === "untouched")
    assertSameTree(withoutRootTime(snapshotTree(scene.original)), withoutRootTime(before), "half landed");
  return outcome;
}

/** Who swaps a folder in the original changes its time. */
function withoutRootTime(snapshot: TreeSnapshot): TreeSnapshot {
  return new Map(
    [...snapshot].map(([path, line]) => [path, path === "." ? line.replace(/mtime=\d+/, "") : line]),
  );
}

/** From when on the rival swaps: before anything has been looked at, or when it is decided and lands. */
const PHASES = { root: IS_LONG ? ["store.open", "land."] : ["store.open"], user: ["land."] } as const;

for (const actor of ACTORS) {
  describe(`A landing by ${actor} while folders are swapped for links`, () => {
    for (const [where, victim, decoy] of [
      ["the folder around the original", "parent", "outside"],
      ["the original itself", "parent/original", "outside/original"],
      ["a folder in the original", "parent/original/folder", "outside/original/folder"],
    ] as const)
      for (const phase of PHASES[actor])
        it(`[X1][A3] reaches nothing outside, and is all or nothing: ${where}, from ${phase} on`, async (t) => {
          using scene = new SwappingStage(actor).prepare();
          const [before, outside] = [snapshotTree(scene.original), snapshotTree(scene.outside)];
          const id = scene.plan();
          const { status, stderr } = await scene.applyAgainst(
            id,
            join(scene.path, victim),
            join(scene.path, decoy),
            phase,
          );
          assertSameTree(snapshotTree(scene.outside), outside, "the outside changed");
          const outcome = landedOrNot(scene, before, stderr);
          t.diagnostic(`${outcome}, exit code ${status}`);
          // What was decided while the rival kept the original away is finished by who comes next, and said
          // to be under way until then.
          const needsLook = /^attention: |not all of it could be finished yet/m.test(stderr);
          if (outcome === "landed") return assert.equal(status, needsLook ? 4 : 0, stderr);
          assert.notEqual(status, 0);
          assert.match(stderr, /^error: \S.*\n {2}hint: \S/);
          // A folder that was swapped in the original itself counts as changed by somebody else.
          const again = scene.drydock(["plan", "apply", id]);
          assert.ok(again.status === 0 || (victim.endsWith("/folder") && again.status === 3), again.stderr);
          assert.equal(landedOrNot(scene, before, again.stderr), again.status === 0 ? "landed" : "untouched");
          assertSameTree(snapshotTree(scene.outside), outside, "the outside changed");
        });

    it("[X1] takes nothing from outside into the original: a folder in the sandbox", async (t) => {
      using scene = new SwappingStage(actor).prepare();
      const outside = snapshotTree(scene.outside);
      const id = scene.plan();
      const [sandbox = ""] = readdirSync(join(scene.state, "sandboxes"));
      const layer = join(scene.state, "sandboxes", sandbox, "upper/folder");
      assert.ok(existsSync(layer));
      const { status, stderr } = await scene.applyAgainst(
        id,
        layer,
        join(scene.outside, "original/folder"),
        "store.open",
      );
      t.diagnostic(`exit code ${status}: ${stderr.split("\n")[0]}`);
      assertSameTree(snapshotTree(scene.outside), outside, "the outside changed");
      // The link that the rival left there may have landed, as what it is.
      const found = spawnSync("grep", ["-rl", SECRET, scene.original], { encoding: "utf8" });
      assert.deepEqual([found.status, found.stdout], [1, ""]);
    });
  });
}
