import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { OPERATIONS } from "../../src/serve/api.ts";
import { progressShape } from "../../src/serve/shapes/machine-shapes.ts";
import { Workplace } from "../end-to-end/workplace.ts";
import { Served, textOf } from "./served.ts";

/** What reviews.test.ts has. */
const REVIEWS = [
  ...["showReview", "reviewChanges", "reviewHunks", "reviewRows", "readChange", "voteOnChanges"],
  ...["lookAtChanges", "commentOnPlan", "editComment", "removeComment", "askForChanges"],
];

/** Answers that are not JSON go through no schema. */
const STREAMS = [
  "followEvents",
  "followPlan",
  "streamCommand",
  "writeInput",
  "signalCommand",
  "resizeTerminal",
];

async function must<T>(answer: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data, error } = await answer;
  assert.equal(error, undefined, JSON.stringify(error));
  assert.ok(data !== undefined);
  return data;
}

describe("the operations of 'drydock serve'", () => {
  it("[P4] all do what the command line does, by a client that is generated from the document", async () => {
    using place = new Workplace();
    place.folder("app", { "prices.txt": "10\n", "old/file": "x\n" });
    using database = new DatabaseSync(join(place.folder("data", {}), "shop.db"));
    database.exec(
      "CREATE TABLE items (id INTEGER PRIMARY KEY, price INTEGER); INSERT INTO items VALUES (1, 10)",
    );
    await using served = await Served.start(place);
    const { client } = served;
    const inPlan = (plan: string) => ({ path: { plan } });

    const made = await must(
      client.POST("/v1/plans", {
        body: {
          resources: [{ location: "app" }, { location: "data/shop.db" }],
          name: "fix",
          labels: { ticket: "7" },
        },
      }),
    );
    assert.deepEqual([made.name, made.state, made.resources.length], ["fix", "open", 2]);
    const list = await must(client.GET("/v1/plans", { params: { query: { label: ["ticket=7"] } } }));
    assert.deepEqual(list.plans, place.answer("plan", "list").plans);
    const shown = await must(client.GET("/v1/plans/{plan}", { params: inPlan("fix") }));
    assert.deepEqual(shown, place.answer("plan", "show", "fix"));
    const params = inPlan("fix");
    const at = (path: string) => ({ ...params, query: { resource: "app", path } });

    await must(
      client.PUT("/v1/plans/{plan}/file", {
        params: at("prices.txt"),
        body: "11\n",
        bodySerializer: (body) => String(body),
      }),
    );
    const read = await client.GET("/v1/plans/{plan}/file", { params: at("prices.txt"), parseAs: "text" });
    assert.equal(read.data, "11\n");
    assert.equal(place.read("app/prices.txt"), "10\n");
    const entry = await must(client.GET("/v1/plans/{plan}/entry", { params: at("prices.txt") }));
    assert.deepEqual([entry.kind, entry.size], ["file", 3]);
    await must(
      client.POST("/v1/plans/{plan}/folder", { params, body: { resource: "app", path: "new/deep" } }),
    );
    const moved = { resource: "app", from: "old", to: "new/old" };
    await must(client.POST("/v1/plans/{plan}/rename", { params, body: moved }));
    const entries = await must(
      client.GET("/v1/plans/{plan}/entries", {
        params: { ...params, query: { resource: "app", path: ".", recursive: true } },
      }),
    );
    assert.deepEqual(
      entries.entries.map(({ path }) => path),
      ["new", "new/deep", "new/old", "new/old/file", "prices.txt"],
    );
    await must(
      client.DELETE("/v1/plans/{plan}/entry", {
        params: { ...params, query: { resource: "app", path: "new", recursive: true } },
      }),
    );
    const sandbox = await must(
      client.GET("/v1/plans/{plan}/path", { params: { ...params, query: { resource: "app" } } }),
    );
    assert.equal(sandbox.path, place.answer("plan", "path", "fix", "app").path);
    const sql = await must(
      client.POST("/v1/plans/{plan}/sql", {
        params,
        body: { resource: "shop.db", script: "UPDATE items SET price = 11; SELECT * FROM items" },
      }),
    );
    assert.deepEqual(sql.results.at(-1)?.rows, [[1, 11]]);

    const ran = await must(
      client.POST("/v1/plans/{plan}/exec", {
        params,
        body: { command: ["sh", "-c", "cat; cat prices.txt; echo oops >&2; exit 3"], input: "in\n" },
      }),
    );
    assert.deepEqual([ran.exitCode, ran.stdout, ran.stderr], [3, "in\n11\n", "oops\n"]);
    await must(client.GET("/v1/plans/{plan}/scratch", { params }));
    await client.GET("/v1/plans/{plan}/scratch/patch", { params, parseAs: "text" });

    const saved = await must(
      client.POST("/v1/plans/{plan}/checkpoints", { params, body: { label: "good" } }),
    );
    await must(client.DELETE("/v1/plans/{plan}/entry", { params: at("prices.txt") }));
    const restored = await must(
      client.POST("/v1/plans/{plan}/checkpoints/{checkpoint}/restore", {
        params: { path: { plan: "fix", checkpoint: "good" } },
      }),
    );
    assert.equal(restored.checkpoint.id, saved.id);
    const saves = await must(client.GET("/v1/plans/{plan}/checkpoints", { params }));
    assert.ok(saves.checkpoints.some(({ label }) => label === "good"));

    const first = await must(
      client.GET("/v1/plans/{plan}/diff", { params: { ...params, query: { limit: 1 } } }),
    );
    const second = await must(
      client.GET("/v1/plans/{plan}/diff", { params: { ...params, query: { cursor: first.next ?? "" } } }),
    );
    const whole = place.answer("plan", "diff", "fix");
    assert.deepEqual([...first.changes, ...second.changes], whole.changes);
    const patch = await client.GET("/v1/plans/{plan}/patch", {
      params: { ...params, query: { paths: ["prices.txt"] } },
      parseAs: "text",
    });
    assert.match(patch.data ?? "", /^-10\n\+11$/m);

    const asked = await must(client.POST("/v1/plans/{plan}/review", { params, body: { message: "look" } }));
    const none = await must(client.GET("/v1/plans/{plan}/approval", { params }));
    assert.equal(none.approval, null);
    const approval = await must(
      client.POST("/v1/plans/{plan}/approve", { params, body: { digest: asked.digest } }),
    );
    assert.equal(approval.via, "api");
    const applied = await must(
      client.POST("/v1/plans/{plan}/apply", { params, body: { approved: true, message: "why" } }),
    );
    assert.equal(applied.state, "applied");
    assert.equal(place.read("app/prices.txt"), "11\n");
    const undone = await must(client.POST("/v1/plans/{plan}/undo", { params }));
    assert.equal(undone.state, "undone");
    assert.equal(place.read("app/prices.txt"), "10\n");
    const log = await must(client.GET("/v1/plans/{plan}/log", { params }));
    assert.deepEqual(log, place.answer("plan", "log", "fix"));

    const create = (name: string) =>
      must(client.POST("/v1/plans", { body: { name, resources: [{ location: "app" }] } }));
    await create("two");
    place.folder("docs", { "page.md": "# Page\n" });
    const grown = await must(
      client.POST("/v1/plans/{plan}/resources", {
        params: inPlan("two"),
        body: { resources: [{ location: "docs" }] },
      }),
    );
    assert.equal(grown.resources.length, 2);
    const put = { params: { path: { plan: "two" }, query: { resource: "app", path: "prices.txt" } } };
    await must(
      client.PUT("/v1/plans/{plan}/file", { ...put, body: "12\n", bodySerializer: (body) => String(body) }),
    );
    place.write("app/prices.txt", "13\n");
    const updated = await must(client.POST("/v1/plans/{plan}/update", { params: inPlan("two") }));
    assert.deepEqual(updated.marked, [{ resource: "app", path: "prices.txt" }]);
    const resolved = await must(
      client.POST("/v1/plans/{plan}/resolve", {
        params: inPlan("two"),
        body: { resource: "app", path: "prices.txt", how: "keep-both" },
      }),
    );
    assert.equal(resolved.beside, "prices.txt~two");
    await must(client.POST("/v1/plans/{plan}/rollback", { params: inPlan("two") }));
    assert.equal(
      (await must(client.POST("/v1/plans/{plan}/cancel", { params: inPlan("two") }))).state,
      "cancelled",
    );
    await create("three");
    assert.equal(
      (await must(client.POST("/v1/plans/{plan}/abandon", { params: inPlan("three") }))).state,
      "abandoned",
    );
    const settled = await client.POST("/v1/plans/{plan}/settle", {
      params: inPlan("three"),
      body: { how: "abort" },
    });
    assert.equal(settled.error?.status, 400, "nothing of it is in doubt");
    served.answered.add("settlePlan");

    await must(client.POST("/v1/recover"));
    await must(client.GET("/v1/cleanup"));
    await must(client.POST("/v1/cleanup/purge", { body: { dryRun: true } }));
    await must(client.GET("/v1/cleanup/status"));
    const { strategies } = await must(client.GET("/v1/strategies"));
    assert.deepEqual(strategies, place.answer("strategy", "list").strategies);
    const { types } = await must(client.GET("/v1/resource-types"));
    assert.deepEqual(types, place.answer("resource-type", "list").types);
    await must(client.GET("/v1/resource-types/{type}", { params: { path: { type: "fs-file" } } }));
    await must(client.GET("/v1/doctor"));
    const { stateDir } = await must(client.GET("/v1/version"));
    assert.equal(stateDir, place.state);
    const missing = OPERATIONS.map(({ id }) => id).filter((id) => !served.answered.has(id));
    assert.deepEqual(missing.toSorted(), [...STREAMS, ...REVIEWS].toSorted(), "other tests have these");
    const document = await textOf(await served.raw("/v1/openapi.json"));
    const checkedIn = place.readAt(join(import.meta.dirname, "../../schema/openapi.json"));
    assert.deepEqual(JSON.parse(document), JSON.parse(checkedIn));
  });

  it("[P1] [P4] stream a command's output, take its input, and pass signals on", async () => {
    using place = new Workplace();
    place.folder("app", {});
    await using served = await Served.start(place);
    await must(served.client.POST("/v1/plans", { body: { name: "p", resources: [{ location: "app" }] } }));
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

  it("[P4] tell their progress, with plan, resource and operation, to a client that takes events", async () => {
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

  it("[P3] follow events, and go on behind Last-Event-ID", async () => {
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
