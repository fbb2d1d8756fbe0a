import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import type { CommandEntry } from "../../src/cli/command-entry.ts";
import { COMMANDS } from "../../src/cli/command-table.ts";
import { OPERATIONS } from "../../src/serve/api.ts";
import { Workplace } from "../end-to-end/workplace.ts";
import { Served, textOf } from "./served.ts";

/** What reviews.test.ts has. */
const REVIEWS = [
  ...["showReview", "reviewChanges", "reviewHunks", "reviewRows", "readChange", "voteOnChanges"],
  ...["lookAtChanges", "commentOnPlan", "editComment", "removeComment", "askForChanges"],
];

/** What detached.test.ts has. */
/** They need a fleet: test/fleet/ways-in.test.ts. */
const HOSTS = ["listHosts", "showHost", "drainHost", "removeHost"];
const DETACHED = [
  ...["detachCommand", "listCommands", "showCommand", "readOutput", "typeInput", "resizeCommand"],
  ...["awaitCommand", "endCommand"],
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

/** The operations of each command, or why there are none. */
const OF_COMMANDS: { readonly [command: string]: readonly string[] | string } = {
  run: ["run", "explainRun"],
  attach: ["showCommand", "readOutput", "typeInput", "resizeCommand", "awaitCommand"],
  shell: "a terminal: streamCommand has one",
  status: ["showPlan"],
  diff: ["diffPlan"],
  apply: ["applyPlan"],
  undo: ["undoPlan"],
  list: ["listPlans"],
  review: "a page of its own; its operations are there too",
  approve: ["approvePlan", "showApproval"],
  "plan create": ["createPlan"],
  "plan add": ["addResources"],
  "plan list": ["listPlans"],
  "plan show": ["showPlan", "listPlaces"],
  "plan exec": ["runCommand", "streamCommand", "explainCommand", "detachCommand"],
  "plan path": ["findSandbox"],
  "plan read": ["readFile"],
  "plan write": ["writeFile"],
  "plan ls": ["listEntries"],
  "plan rm": ["removeEntry"],
  "plan mv": ["renameEntry"],
  "plan scratch list": ["listScratch"],
  "plan scratch diff": ["patchScratch"],
  "plan sql": ["runSql"],
  "plan diff": ["diffPlan", "patchPlan", "summarizeDiff"],
  "plan checkpoint": ["saveCheckpoint"],
  "plan checkpoints": ["listCheckpoints"],
  "plan restore": ["restoreCheckpoint"],
  "plan update": ["updatePlan"],
  "plan resolve": ["resolvePath"],
  "plan apply": ["applyPlan"],
  "plan rollback": ["rollBackPlan"],
  "plan undo": ["undoPlan"],
  "plan log": ["showLog", "followPlan"],
  "plan cancel": ["cancelPlan"],
  recover: ["recover", "settlePlan", "abandonPlan"],
  "cleanup scan": ["scanLeftovers"],
  "cleanup purge": ["purgeLeftovers"],
  "cleanup status": ["showCleanup"],
  "cleanup install-timer": "sets up systemd",
  "host start": "a service of its own",
  "host list": ["listHosts"],
  "host show": ["showHost"],
  "host drain": ["drainHost"],
  "host remove": ["removeHost"],
  "cleanup remove-timer": "sets up systemd",
  "strategy list": ["listStrategies"],
  "strategy check": ["checkStrategy"],
  "resource-type list": ["listResourceTypes"],
  "resource-type show": ["showResourceType"],
  doctor: ["examine"],
  serve: "a way in",
  mcp: "a way in; /mcp has it",
  acp: "a way in",
  hook: "a way in",
  init: "writes a file for a person to edit",
  trust: ["trustConfig"],
  completion: "a shell",
  version: ["showVersion"],
};

function leavesOf(entries: readonly CommandEntry[]): readonly string[] {
  return entries.flatMap((entry) =>
    entry.commands !== undefined
      ? leavesOf(entry.commands).map((name) => `${entry.name} ${name}`)
      : [entry.name],
  );
}

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
        body: {
          command: ["sh", "-c", "cat; cat prices.txt; echo $IS_SANDBOX >&2; exit 3"],
          input: "in\n",
          profiles: ["claude"],
        },
      }),
    );
    assert.deepEqual([ran.exitCode, ran.stdout, ran.stderr], [3, "in\n11\n", "1\n"]);
    const agent = { command: ["claude"], network: false, profiles: "automatic" as const };
    const explained = await must(client.POST("/v1/plans/{plan}/explain", { params, body: agent }));
    assert.deepEqual([explained.profiles, explained.network], [["claude"], "none"]);
    const over = [{ location: "app" }, { location: "data/shop.db" }];
    const same = await must(client.POST("/v1/explain", { body: { resources: over, ...agent } }));
    assert.deepEqual(same, explained, "a plan that is not made yet");
    const words = "run --json --explain --no-network -r app -r data/shop.db -- claude".split(" ");
    assert.deepEqual(same, JSON.parse(place.done(...words)));
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

    const run = (body: object) =>
      must(
        client.POST("/v1/run", {
          body: { plan: { resources: [{ location: "docs" }], name: "once" }, command: ["true"], ...body },
        }),
      );
    const script = ["sh", "-c", "cat >> page.md; echo out; echo err >&2"];
    const ran1 = await run({ command: script, input: "more\n", changes: "apply", message: "grow" });
    assert.deepEqual([ran1.outcome, ran1.stdout, ran1.stderr], ["applied", "out\n", "err\n"]);
    assert.equal(place.read("docs/page.md"), "# Page\nmore\n");
    assert.equal((await run({})).outcome, "unchanged");
    assert.equal((await run({ command: script, input: "x", changes: "discard" })).outcome, "discarded");
    const failed = await run({ command: ["sh", "-c", "rm page.md; exit 3"], changes: "apply" });
    assert.deepEqual([failed.outcome, failed.exitCode, failed.diff?.changes.length], ["kept", 3, 1]);
    const summary = await must(client.GET("/v1/plans/{plan}/summary", { params: inPlan(failed.planId) }));
    assert.deepEqual(summary, place.answer("plan", "diff", "--summary", failed.planId));
    const { places } = await must(client.GET("/v1/plans/{plan}/places", { params: inPlan(failed.planId) }));
    assert.deepEqual(places, place.answer("plan", "show", "--places", failed.planId).places);
    await must(client.POST("/v1/plans/{plan}/cancel", { params: inPlan(failed.planId) }));
    const hooked = await client.POST("/v1/run", {
      body: {
        plan: { resources: [{ location: "docs" }] },
        command: ["sh", "-c", "mkdir .vscode && echo '{}' > .vscode/tasks.json"],
        changes: "apply",
      },
    });
    const { reason, planId } = hooked.error?.details ?? {};
    assert.equal(reason, "SELF_RUNNING");
    assert.equal(place.answer("plan", "show", String(planId)).state, "open", "the work is kept");

    await must(client.POST("/v1/recover"));
    await must(client.GET("/v1/cleanup"));
    await must(client.POST("/v1/cleanup/purge", { body: { dryRun: true } }));
    await must(client.GET("/v1/cleanup/status"));
    const { strategies } = await must(client.GET("/v1/strategies"));
    assert.deepEqual(strategies, place.answer("strategy", "list").strategies);
    const checked = await must(client.POST("/v1/strategies/check", { body: { strategy: "none" } }));
    assert.deepEqual([checked.strategy, checked.failed], ["none", []]);
    const config = join(place.path, "drydock.yaml");
    place.write("drydock.yaml", "sandbox: {}\n");
    assert.equal((await must(client.POST("/v1/trust", { body: { file: config } }))).file, config);
    const { types } = await must(client.GET("/v1/resource-types"));
    assert.deepEqual(types, place.answer("resource-type", "list").types);
    await must(client.GET("/v1/resource-types/{type}", { params: { path: { type: "fs-file" } } }));
    await must(client.GET("/v1/doctor"));
    const { stateDir } = await must(client.GET("/v1/version"));
    assert.equal(stateDir, place.state);
    const missing = OPERATIONS.map(({ id }) => id).filter((id) => !served.answered.has(id));
    assert.deepEqual(
      missing.toSorted(),
      [...STREAMS, ...REVIEWS, ...DETACHED, ...HOSTS].toSorted(),
      "other tests have these",
    );
    const document = await textOf(await served.raw("/v1/openapi.json"));
    const checkedIn = place.readAt(join(import.meta.dirname, "../../schema/openapi.json"));
    assert.deepEqual(JSON.parse(document), JSON.parse(checkedIn));
  });

  it("[P4] are there for every command, but for those that are about a terminal or are a way in themselves", () => {
    const ids = new Set(OPERATIONS.map(({ id }) => id));
    for (const command of leavesOf(COMMANDS)) {
      const operations = OF_COMMANDS[command];
      assert.ok(operations !== undefined, `${command} has neither an operation nor a reason`);
      for (const id of typeof operations === "string" ? [] : operations) assert.ok(ids.has(id), id);
    }
  });
});
