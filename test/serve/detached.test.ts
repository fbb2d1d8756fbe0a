import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Workplace } from "../end-to-end/workplace.ts";
import { endProcessesOf } from "../support/end-processes.ts";
import { Served } from "./served.ts";

/** If the test itself is killed, its commands end all the same. */
const BOUNDED = { limits: { time: 300_000 } };

/** A place with commands that go on. Those that a test leaves running end with it. */
class DetachedPlace extends Workplace {
  override [Symbol.dispose](): void {
    endProcessesOf(this.path);
    super[Symbol.dispose]();
  }
}

async function must<T>(answer: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data, error } = await answer;
  assert.equal(error, undefined, JSON.stringify(error));
  assert.ok(data !== undefined);
  return data;
}

describe("the detached commands of 'drydock serve'", () => {
  it("[I11] [P4] go on when the server is killed, and are found, read, typed at and ended through the next one", async () => {
    using place = new DetachedPlace();
    place.folder("app", { "a.txt": "one\n" });
    place.done("plan", "create", "-r", "app", "--name", "p");
    const params = { path: { plan: "p" } };
    const first = await Served.start(place);
    const script = "echo begun; read word; echo got $word | tee a.txt; stty size; exec sleep 1000";
    const started = await must(
      first.client.POST("/v1/plans/{plan}/commands", {
        params,
        body: { command: ["sh", "-c", script], terminal: { rows: 9, columns: 40 }, ...BOUNDED },
      }),
    );
    assert.deepEqual([started.state, started.command.slice(0, 5)], ["running", "sh -c"]);
    first.running.signal("SIGKILL");
    await first.running.ended();

    await using served = await Served.start(place);
    const { client } = served;
    const { exec } = started;
    const of = { path: { plan: "p", exec } };
    const at = `/v1/plans/p/commands/${exec}`;
    const { commands } = await must(client.GET("/v1/plans/{plan}/commands", { params }));
    assert.deepEqual(commands, [started]);
    const read = (query: { from?: number; last?: number }) =>
      must(client.GET("/v1/plans/{plan}/commands/{exec}/output", { params: { ...of, query } }));
    const until = async (wanted: string, from: number) => {
      for (let tries = 0; tries < 3000; tries += 1) {
        const output = await read({ from });
        if (output.text.includes(wanted)) return output;
        await setTimeout(20);
      }
      return assert.fail(`it never wrote ${wanted}`);
    };
    const begun = await until("begun", 0);
    const size = { rows: 33, columns: 77 };
    await must(client.POST("/v1/plans/{plan}/commands/{exec}/resize", { params: of, body: size }));
    const typed = await served.raw(`${at}/input`, { method: "POST", body: "word\n" });
    assert.equal(typed.statusCode, 200);
    const rest = await until("33 77", begun.next);
    assert.equal(rest.text, "word\r\ngot word\r\n33 77\r\n");
    assert.equal((await read({ last: 7 })).text, "33 77\r\n");
    const wait = async (seconds: number) =>
      await must(
        client.GET("/v1/plans/{plan}/commands/{exec}/end", { params: { ...of, query: { seconds } } }),
      );
    assert.equal((await wait(0)).state, "running");
    const waiting = wait(300);
    const ended = await must(client.POST("/v1/plans/{plan}/commands/{exec}/end", { params: of, body: {} }));
    assert.deepEqual([ended.state, ended.signal, ended.aborted], ["ended", "SIGTERM", true]);
    assert.deepEqual(await waiting, ended);
    assert.deepEqual(
      await must(client.GET("/v1/plans/{plan}/commands/{exec}", { params: of })),
      place.answer("plan", "show", "p").detached,
    );
    assert.equal((await read({ from: begun.next })).text.slice(0, rest.text.length), rest.text);
    assert.equal(place.done("plan", "read", "p", "app", "a.txt"), "got word\n");
    assert.equal(place.read("app/a.txt"), "one\n");
  });

  it("[I11] outlive the client and a stop of the server, are refused with the reason, and end with a forced cancel", async () => {
    using place = new DetachedPlace();
    place.folder("app", {});
    place.done("plan", "create", "-r", "app", "--name", "p");
    const params = { path: { plan: "p" } };
    const start = async ({ client }: Served, command: string[]) =>
      await client.POST("/v1/plans/{plan}/commands", { params, body: { command, ...BOUNDED } });
    let pid = 0;
    {
      await using served = await Served.start(place);
      const { exec, pid: kept = 0 } = await must(start(served, ["sleep", "1000"]));
      pid = kept;
      const second = await start(served, ["true"]);
      assert.deepEqual([second.error?.status, second.error?.code], [409, "BUSY"]);
      assert.match(second.error?.detail ?? "", /a plan has only one such command/);
      const at = `/v1/plans/p/commands/${exec}`;
      for (const [path, status, code] of [
        [`${at}/output?from=1&last=1`, 400, "BAD_ARGUMENT"],
        [`${at}/output?from=-1`, 400, "BAD_ARGUMENT"],
        [`${at}/end?seconds=301`, 400, "BAD_ARGUMENT"],
        ["/v1/plans/p/commands/other", 404, "NO_SUCH_COMMAND"],
        ["/v1/plans/q/commands", 404, "UNKNOWN_PLAN"],
      ] as const) {
        const refused = await served.raw(path);
        const problem = JSON.parse(Buffer.concat(await Array.fromAsync(refused)).toString());
        assert.deepEqual([refused.statusCode, problem.code], [status, code], path);
      }
    }
    assert.ok(existsSync(`/proc/${pid}`), "the stop of the server left it alone");
    await using served = await Served.start(place);
    const { client } = served;
    const busy = await client.POST("/v1/plans/{plan}/cancel", { params, body: {} });
    assert.deepEqual([busy.error?.status, busy.error?.code], [409, "BUSY"]);
    const over = await must(client.POST("/v1/plans/{plan}/cancel", { params, body: { force: true } }));
    assert.equal(over.state, "cancelled");
    for (let tries = 0; existsSync(`/proc/${pid}`) && tries < 3000; tries += 1) await setTimeout(20);
    assert.ok(!existsSync(`/proc/${pid}`));
    const late = await start(served, ["true"]);
    assert.deepEqual([late.error?.status, late.error?.code], [409, "PLAN_STATE"]);
  });
});
