import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { program, Workplace } from "../end-to-end/workplace.ts";
import { NO_BROWSER, startBrowser } from "./browser.ts";

interface Address {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
}

/** A place with a plan, whose reviews in the background end with it. */
class Background extends Workplace {
  readonly #pids = new Set<number>();

  constructor() {
    super();
    this.done("plan", "create", "-r", this.folder("shop", { "a.txt": "one\n" }), "--name", "work");
    this.write(
      `${this.done("plan", "path", "work")
        .trim()
        .slice(this.path.length + 1)}/a.txt`,
      "two\n",
    );
  }

  /** From a terminal, which is gone when the command has ended. */
  review(...args: readonly string[]): Address {
    const words = [program, "review", ...args, "--background", "--no-open", "--json"];
    const { status, stdout } = this.run("script", ["-qec", words.join(" "), "/dev/null"]);
    assert.equal(status, 0, stdout);
    const address = JSON.parse(stdout) as Address;
    this.#pids.add(address.pid);
    return address;
  }

  get sockets(): readonly string[] {
    const folder = join(this.state, "serve");
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  override [Symbol.dispose](): void {
    for (const pid of this.#pids) if (isAlive(pid)) process.kill(pid, "SIGKILL");
    super[Symbol.dispose]();
  }
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}

async function gone(pid: number): Promise<void> {
  for (let tries = 0; isAlive(pid); tries += 1) {
    assert.ok(tries < 3000, `${pid} never ended`);
    await setTimeout(20);
  }
}

describe("a review in the background", () => {
  it("outlives the command and its terminal, is found again, and ends with the verdict, which the plan keeps", {
    skip: NO_BROWSER,
  }, async () => {
    using place = new Background();
    const first = place.review("work");
    const again = place.review("work");
    assert.deepEqual([again.pid, again.port], [first.pid, first.port], "one for each plan");
    await using browser = await startBrowser();
    const page = await browser.newPage();
    await page.goto(first.url);
    await page.getByText("The address was used before, or is another review's.").waitFor();
    await page.goto("about:blank");
    await page.goto(again.url);
    await page.getByRole("treeitem", { name: /a\.txt/ }).waitFor();
    await page.keyboard.press("A");
    await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    await page.getByText("Approved. You can close this window.").waitFor();
    await gone(first.pid);
    assert.deepEqual(place.sockets, []);
    assert.match(place.done("plan", "log", "work"), /approved .*via page/);
    assert.deepEqual(place.answer("review", "work", "--end"), { ended: false });
  });

  it("is ended by a command; what a killed one leaves is replaced, or removed by the next one of any plan", async () => {
    using place = new Background();
    const first = place.review("work");
    assert.deepEqual(place.answer("review", "work", "--end"), { ended: true });
    await gone(first.pid);
    assert.deepEqual(place.sockets, []);
    for (const plan of [["work"], []]) {
      const killed = place.review("work");
      process.kill(killed.pid, "SIGKILL");
      await gone(killed.pid);
      assert.deepEqual(place.sockets.length, 1);
      const next = place.review(...plan);
      assert.notEqual(next.pid, killed.pid);
      assert.equal(place.sockets.length, 1);
      assert.deepEqual(place.answer("review", ...plan, "--end"), { ended: true });
      await gone(next.pid);
      assert.deepEqual(place.sockets, []);
    }
  });

  it("is not there when the command that is to start it dies before", async () => {
    using place = new Background();
    for (const point of ["review.ask", "review.start"]) {
      const args = ["review", "work", "--background", "--no-open"];
      const killed = place.start(args, { DRYDOCK_FAILPOINT: `${point}=kill` });
      assert.equal((await killed.ended()).signal, "SIGKILL");
      assert.deepEqual(place.sockets, []);
    }
    place.review("work");
    assert.deepEqual(place.answer("review", "work", "--end"), { ended: true });
  });
});
