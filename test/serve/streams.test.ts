import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { progressShape } from "../../src/serve/shapes/machine-shapes.ts";
import { Workplace } from "../end-to-end/workplace.ts";
import { Served, textOf } from "./served.ts";

describe("the streams of 'drydock serve'", () => {
  it("[P1] [P4] tell a command's output, take its input, and pass signals on", async () => {
    using place = new Workplace();
    place.folder("app", {});
    await using served = await Served.start(place);
    place.done("plan", "create", "-r", "app", "--name", "p");
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({
      command: ["sh", "-c", "trap 'echo term; exit 5' TERM; read word; echo got $word >&2; sleep 60 & wait"],
    });
    const seen: string[] = [];
    let ended: unknown;
    let exec = "";
    const post = async (what: string, options: { body: string; headers?: typeof headers }) =>
      JSON.parse(await textOf(await served.raw(`/v1/execs/${exec}/${what}`, { method: "POST", ...options })));
    for await (const { event, data } of served.events("/v1/plans/p/exec-stream", {
      ...{ method: "POST", headers, body },
    })) {
      if (event === "started") {
        exec = data.exec;
        assert.deepEqual(await post("stdin", { body: "word\n" }), { exec });
      } else if (event === "ended") ended = data;
      else seen.push(`${event} ${Buffer.from(data.base64, "base64")}`);
      if (event === "stderr") {
        assert.deepEqual(await post("resize", { headers, body: '{"rows":5,"columns":9}' }), { exec });
        assert.deepEqual(await post("signal", { headers, body: '{"signal":"SIGTERM"}' }), { exec });
      }
    }
    assert.deepEqual(seen, ["stderr got word\n", "stdout term\n"]);
    assert.equal((ended as { exitCode: number }).exitCode, 5);
    assert.equal((await post("signal", { headers, body: '{"signal":"SIGTERM"}' })).code, "NO_SUCH_COMMAND");
  });

  it("[P4] tell the progress of any operation, with plan, resource and operation, to a client that takes events", async () => {
    using place = new Workplace();
    place.folder("app", Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`f${at}`, "x\n"])));
    await using served = await Served.start(place);
    const headers = { "content-type": "application/json", accept: "text/event-stream" };
    const told = async (path: string, body?: object) => {
      const method = body === undefined ? "GET" : "POST";
      const request = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
      const events = await Array.fromAsync(served.events(path, request));
      const last = events.pop();
      for (const { event, data } of events) {
        assert.equal(event, "progress");
        progressShape.parse(data);
      }
      const about = new Set(
        events.map(({ data: { operation, planId, resource } }) => `${operation} ${planId} ${resource}`),
      );
      return { last, about: [...about], tasks: events.map(({ data }) => data.task) };
    };
    const resources = [{ location: "app", strategy: "filesystem_copy" }];
    const made = await told("/v1/plans", { name: "p", resources });
    const { id } = place.answer("plan", "show", "p");
    assert.deepEqual([made.last?.event, made.last?.data], ["done", place.answer("plan", "show", "p")]);
    assert.deepEqual(made.about, [`createPlan ${id} app`]);
    await served.raw("/v1/plans/p/file?path=f7", { method: "PUT", body: "new\n" });
    assert.deepEqual((await told("/v1/plans/p/diff")).about, [`diffPlan ${id} app`]);
    const refused = await told("/v1/plans/p/apply", { check: ["true", "exit 3"] });
    assert.ok(refused.tasks.some((task) => task.startsWith("checking: ")));
    assert.deepEqual([refused.last?.event, refused.last?.data.details.reason], ["problem", "CHECK_FAILED"]);
    const applied = await told("/v1/plans/p/apply", {});
    assert.deepEqual([applied.last?.event, applied.last?.data.state], ["done", "applied"]);
    assert.deepEqual(applied.about, [`applyPlan ${id} app`]);
    assert.deepEqual((await told("/v1/plans/p/undo", {})).last?.data.state, "undone");
    const bad = await served.raw("/v1/plans/p/apply", { method: "POST", headers, body: '{"nonsense":1}' });
    assert.deepEqual([bad.statusCode, JSON.parse(await textOf(bad)).code], [400, "BAD_ARGUMENT"]);
  });

  it("[P3] tell events, and go on behind Last-Event-ID", async () => {
    using place = new Workplace();
    place.folder("app", {});
    await using served = await Served.start(place);
    place.done("plan", "create", "-r", "app", "--name", "p");
    const ids: string[] = [];
    for await (const { id = "", data } of served.events("/v1/events")) {
      ids.push(id);
      if (data.event === "created") place.done("plan", "checkpoint", "p");
      if (data.event === "checkpoint") break;
    }
    assert.equal(ids.length, 2);
    place.done("plan", "cancel", "p");
    const headers = { "last-event-id": ids[1] ?? "" };
    for await (const { data } of served.events("/v1/plans/p/events", { headers })) {
      assert.equal(data.event, "cancelled");
      break;
    }
    const refused = await served.raw("/v1/events", { headers: { "last-event-id": "7-stale" } });
    assert.deepEqual([refused.statusCode, JSON.parse(await textOf(refused)).code], [409, "STALE_CURSOR"]);
  });
});
