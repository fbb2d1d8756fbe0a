import assert from "node:assert/strict";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Running, Workplace } from "../end-to-end/workplace.ts";
import { IS_LONG } from "../support/long-form.ts";

const CHAINS = IS_LONG ? 50 : 14;
const CREATES = IS_LONG ? 25 : 8;

type Answer = { readonly status: number | null; readonly said: string };

/** A place of work whose commands can run beside each other. None outlives it. */
class Crowd extends Workplace {
  readonly #started: Running[] = [];

  override start(args: readonly string[], env?: NodeJS.ProcessEnv): Running {
    const running = super.start(args, env);
    this.#started.push(running);
    return running;
  }

  override [Symbol.dispose](): void {
    for (const running of this.#started) running.signal("SIGKILL");
    super[Symbol.dispose]();
  }

  async call(...args: readonly string[]): Promise<Answer> {
    const { status, stdout, stderr } = await this.start(args).ended();
    return { status, said: `drydock ${args.join(" ")}: exit ${status}\n${stdout}${stderr}` };
  }

  /** A plan on a folder of its own, in which a command has added `new`. */
  async plan(name: string): Promise<void> {
    const folder = this.folder(name, { old: "old\n" });
    await this.must("plan", "create", "--name", name, "-r", folder);
    await this.must("plan", "exec", name, "--", "touch", join(folder, "new"));
  }

  async must(...args: readonly string[]): Promise<void> {
    const { status, said } = await this.call(...args);
    assert.equal(status, 0, said);
  }

  hasLanded(name: string): boolean {
    return existsSync(join(this.path, name, "new"));
  }

  runFolders(): readonly string[] {
    return readdirSync(join(this.state, "runs")).filter((name) => name.length === 26);
  }
}

describe("Many commands at once", () => {
  it(`[A21] [A14] ${CHAINS} plans are made, worked in, and applied or cancelled: each command succeeds, and says what is so`, {
    timeout: 300_000,
  }, async () => {
    using crowd = new Crowd();
    const chains = Array.from({ length: CHAINS }, async (_, at) => {
      const name = `p${at}`;
      if (at % 5 === 4) {
        const folder = crowd.folder(name, { old: "old\n" });
        await crowd.must("run", "--apply", "-r", folder, "--", "touch", join(folder, "new"));
      } else {
        await crowd.plan(name);
        await crowd.must("plan", at % 5 === 3 ? "cancel" : "apply", name);
      }
      assert.equal(crowd.hasLanded(name), at % 5 !== 3);
    });
    const ends = await Promise.allSettled(chains);
    assert.deepEqual(
      ends.flatMap((end) => (end.status === "rejected" ? [String(end.reason)] : [])),
      [],
    );
    assert.deepEqual([crowd.answer("cleanup", "scan").items, crowd.runFolders()], [[], []]);
    assert.deepEqual(readdirSync(join(crowd.state, "owners")), []);
  });

  it("[A21] an apply that removes the folder of its commands is not disturbed by a start that would remove it too", async () => {
    using crowd = new Crowd();
    await crowd.plan("p");
    const applying = crowd.start(["plan", "apply", "p"], { DRYDOCK_FAILPOINT: "runs.remove:2=stop" });
    await applying.stopped();
    crowd.done("plan", "list");
    assert.equal(crowd.runFolders().length, 1, "it is left to the one that is at it");
    applying.signal("SIGCONT");
    const { status, stderr } = await applying.ended();
    assert.deepEqual(
      { status, stderr, landed: crowd.hasLanded("p") },
      { status: 0, stderr: "", landed: true },
    );
    assert.deepEqual(crowd.runFolders(), []);
  });

  it("[A21] a start that tidies up after others takes what is gone meanwhile as gone", async () => {
    using crowd = new Crowd();
    await crowd.plan("p");
    const dying = crowd.start(["plan", "apply", "p"], { DRYDOCK_FAILPOINT: "runs.remove:1=kill" });
    assert.equal((await dying.ended()).signal, "SIGKILL");
    const listing = crowd.start(["plan", "list"], { DRYDOCK_FAILPOINT: "runs.remove:2=stop" });
    await listing.stopped();
    for (const name of crowd.runFolders()) rmSync(join(crowd.state, "runs", name), { recursive: true });
    listing.signal("SIGCONT");
    const { status, stdout, stderr } = await listing.ended();
    assert.equal(status, 0, stdout + stderr);
    assert.equal(crowd.hasLanded("p"), true);
  });

  it("[A21] an apply whose plan's remains can't be removed has landed, and says what is left; the next command removes it", async () => {
    using crowd = new Crowd();
    await crowd.plan("p");
    const env = { DRYDOCK_FAILPOINT: "runs.remove=error" };
    const { status, stdout, stderr } = await crowd.start(["plan", "apply", "p"], env).ended();
    assert.equal(status, 0, stdout + stderr);
    assert.match(stderr, /^warning: what its commands left could not be removed: /);
    assert.deepEqual([crowd.hasLanded("p"), crowd.runFolders().length], [true, 1]);
    assert.equal(crowd.drydock(["plan", "list"]).status, 0);
    assert.deepEqual(crowd.runFolders(), []);
  });

  it("[A14] plans are made on one folder while another one is being copied from it", async () => {
    using crowd = new Crowd();
    const folder = crowd.folder("app", { one: "1\n", two: "2\n" });
    const create = ["plan", "create", "-r", `${folder},strategy=filesystem_copy`];
    const slow = crowd.start(create, { DRYDOCK_FAILPOINT: "copy.create-file:1=stop" });
    await slow.stopped();
    await Promise.all(Array.from({ length: CREATES }, () => crowd.must(...create)));
    slow.signal("SIGCONT");
    const { status, stderr } = await slow.ended();
    assert.deepEqual({ status, stderr }, { status: 0, stderr: "" });
    const plans = crowd.answer("plan", "list").plans as { resources: { path: string }[] }[];
    assert.equal(plans.length, CREATES + 1);
    for (const { resources } of plans)
      assert.deepEqual(readdirSync(resources[0]!.path).sort(), ["one", "two"]);
  });
});
