import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Workplace } from "../end-to-end/workplace.ts";
import { Served, textOf } from "./served.ts";

const headers = { "content-type": "application/json" };

/** A folder, a server, and an open plan over the folder. */
async function withPlan(place: Workplace, env = {}): Promise<Served> {
  place.folder("app", { "a.txt": "old\n" });
  const served = await Served.start(place, [], env);
  await post(served, "/v1/plans", { name: "p", resources: [{ location: "app" }] });
  return served;
}

async function post(served: Served, path: string, body: object, signal?: AbortSignal) {
  const answer = await served.raw(path, {
    ...{ method: "POST", headers, body: JSON.stringify(body) },
    ...(signal !== undefined && { signal }),
  });
  return { status: answer.statusCode, document: JSON.parse(await textOf(answer)) };
}

/** The events of a plan's log with these names. */
function logged(place: Workplace, plan: string, event: string) {
  const { entries } = place.answer("plan", "log", plan);
  return entries.filter((entry: { event: string }) => entry.event === event);
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 3000 && !condition(); tries += 1) await setTimeout(20);
  assert.ok(condition());
}

describe("the life of 'drydock serve'", () => {
  it("[P6] a client that disappears ends its command, and nothing else", async () => {
    using place = new Workplace();
    await using served = await withPlan(place);
    place.folder("other", {});
    await post(served, "/v1/plans", { name: "other", resources: [{ location: "other" }] });
    const others = post(served, "/v1/plans/other/exec", {
      command: ["sh", "-c", "cat; echo done"],
      input: "x",
    });
    const body = JSON.stringify({ command: ["sleep", "500"] });
    for await (const { event } of served.events("/v1/plans/p/exec-stream", { method: "POST", headers, body }))
      if (event === "started") break;
    await until(() => logged(place, "p", "executed").length === 1);

    const gone = new AbortController();
    const captured = post(served, "/v1/plans/p/exec", { command: ["sleep", "500"] }, gone.signal);
    await until(() => logged(place, "p", "exec started").length === 2);
    gone.abort();
    await assert.rejects(captured, { name: "AbortError" });
    await until(() => logged(place, "p", "executed").length === 2);
    assert.deepEqual(
      logged(place, "p", "executed").map(({ details }: { details: object }) => "exitCode" in details),
      [true, true],
    );
    assert.equal((await others).document.stdout, "xdone\n");
    assert.equal((await post(served, "/v1/plans/p/apply", {})).status, 200, "the plan is free again");
  });

  it("[P6] a stop finishes an apply that is decided, and answers it", async () => {
    using place = new Workplace();
    await using served = await withPlan(place, { DRYDOCK_FAILPOINT: "land.exchange:1=stop" });
    await served.raw("/v1/plans/p/file?path=a.txt", { method: "PUT", body: "new\n" });
    const applied = post(served, "/v1/plans/p/apply", {});
    await served.running.stopped();
    served.running.signal("SIGTERM", "SIGCONT");
    assert.deepEqual(await applied.then(({ status, document }) => [status, document.state]), [
      200,
      "applied",
    ]);
    assert.equal((await served.running.ended()).status, 0);
    assert.equal(place.read("app/a.txt"), "new\n");
    assert.equal(existsSync(served.ready.socket ?? ""), false);
  });

  it("[P6] a stop takes back an apply that is not decided, ends commands and streams, and says so", async () => {
    using place = new Workplace();
    await using served = await withPlan(place, { DRYDOCK_FAILPOINT: "stage.manifest:1=stop" });
    await served.raw("/v1/plans/p/file?path=a.txt", { method: "PUT", body: "new\n" });
    place.folder("other", {});
    await post(served, "/v1/plans", { name: "other", resources: [{ location: "other" }] });
    const following = Array.fromAsync(served.events("/v1/plans/p/events?after=now"));
    const command = post(served, "/v1/plans/other/exec", { command: ["sleep", "500"] });
    await until(() => logged(place, "other", "exec started").length === 1);
    const applied = post(served, "/v1/plans/p/apply", {});
    await served.running.stopped();
    served.running.signal("SIGTERM", "SIGCONT");
    assert.deepEqual(await applied.then(({ status, document }) => [status, document.details.reason]), [
      503,
      "INTERRUPTED",
    ]);
    assert.equal((await command).status, 503);
    assert.ok((await following).every(({ event }) => event === "plan"));
    assert.equal((await served.running.ended()).status, 0);
    assert.equal(place.read("app/a.txt"), "old\n");
    assert.equal(place.answer("plan", "show", "p").state, "open");
  });

  it("[P6] after kill -9 in the middle of an apply a new server finishes it, and takes the socket over", async () => {
    using place = new Workplace();
    const dying = await withPlan(place, { DRYDOCK_FAILPOINT: "land.exchange:1=kill" });
    await dying.raw("/v1/plans/p/file?path=a.txt", { method: "PUT", body: "new\n" });
    await assert.rejects(post(dying, "/v1/plans/p/apply", {}));
    assert.equal((await dying.running.ended()).signal, "SIGKILL");
    assert.equal(existsSync(dying.ready.socket ?? ""), true);
    await using served = await Served.start(place);
    const { document } = await post(served, "/v1/recover", {});
    assert.deepEqual(document.pending, []);
    assert.equal(place.read("app/a.txt"), "new\n");

    const second = place.drydock(["serve"]);
    assert.deepEqual([second.status, /already/.test(second.stderr)], [1, true]);
    assert.equal((await served.raw("/v1/version")).statusCode, 200);
  });

  for (const point of ["service.folder", "service.stale", "service.listen", "secret.folder", "secret.write"])
    it(`[P6] a start that is killed at ${point} is in the way of no other`, async () => {
      using place = new Workplace();
      if (point === "service.stale") {
        const first = await Served.start(place);
        first.running.signal("SIGKILL");
        await first.running.ended();
      }
      const isSecret = point.startsWith("secret.");
      const args = isSecret ? ["--listen", "127.0.0.1:0", "--token-file", "private/token"] : [];
      const killed = place.drydock(["serve", ...args], { env: { DRYDOCK_FAILPOINT: `${point}=kill` } });
      assert.equal(killed.status, null);
      await using served = await Served.start(place, args);
      assert.equal((await served.raw("/v1/version")).statusCode, 200);
      const file = isSecret ? join(place.path, "private/token") : (served.ready.socket ?? "");
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.equal(statSync(join(file, "..")).mode & 0o777, 0o700);
    });

  it("works on 30 plans at once, for two clients", async () => {
    using place = new Workplace();
    const names = Array.from({ length: 30 }, (_, at) => `plan${at}`);
    for (const name of names) place.folder(name, { "a.txt": "old\n" });
    await using served = await Served.start(place);
    const clients = [served.client, served.client];
    const work = async (name: string, at: number) => {
      const client = clients[at % 2] ?? served.client;
      const params = { path: { plan: name } };
      await client.POST("/v1/plans", {
        body: { name, resources: [{ location: name, strategy: "filesystem_copy" }] },
      });
      await served.raw(`/v1/plans/${name}/file?path=a.txt`, { method: "PUT", body: `${name}\n` });
      const { data } = await client.GET("/v1/plans/{plan}/diff", { params });
      const applied = await client.POST("/v1/plans/{plan}/apply", {
        params,
        body: { digest: data?.digest ?? "" },
      });
      return applied.data?.state;
    };
    const states = await Promise.all(names.map(work));
    assert.deepEqual(new Set(states), new Set(["applied"]));
    for (const name of names) assert.equal(place.read(`${name}/a.txt`), `${name}\n`);
  });
});
