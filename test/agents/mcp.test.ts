import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Workplace } from "../end-to-end/workplace.ts";
import { IS_LONG } from "../support/long-form.ts";
import { CLIENTS, McpClient, TOOLS } from "./mcp-client.ts";

/** A folder, and a client that works on it. */
async function serving(place: Workplace, ...args: readonly string[]): Promise<McpClient> {
  place.folder("app", { "prices.txt": "10\n" });
  return await McpClient.start(place, ["-r", "app", ...args]);
}

describe("drydock mcp", () => {
  for (const kind of CLIENTS) {
    it(`[P7][P8] lets a client (${kind}) work in a plan, which lands when a person has approved it`, async () => {
      using place = new Workplace();
      place.folder("app", { "prices.txt": "10\n" });
      await using client = await McpClient.start(place, [], kind);
      const tools = await client.tools();
      assert.deepEqual(
        tools.map(({ name }) => name),
        TOOLS,
      );
      assert.ok(tools.every(({ outputSchema }) => outputSchema !== undefined));

      const plan = await client.done("plan_create", { resources: [{ location: "app" }], name: "fix" });
      await client.done("plan_write", { plan: "fix", path: "prices.txt", text: "11\n" });
      const ran = await client.done("plan_exec", {
        plan: "fix",
        script: "cat prices.txt; echo oops >&2; exit 3",
      });
      assert.deepEqual([ran.running, ran.exitCode, ran.stdout, ran.stderr], [false, 3, "11\n", "oops\n"]);
      const diff = await client.done("plan_diff", { plan: "fix", patch: true });
      assert.deepEqual(
        diff.changes.map(({ path }: { path: string }) => path),
        ["prices.txt"],
      );
      assert.match(diff.patch, /^-10\n\+11$/m);
      assert.equal(place.read("app/prices.txt"), "10\n");

      const asked = await client.done("plan_request_review", { plan: "fix", message: "raise prices" });
      assert.deepEqual([asked.status, asked.digest], ["waiting", diff.digest]);
      const review = () => place.answer("plan", "show", plan.id).review;
      assert.equal(review(), "asked");
      const refused = await client.call("plan_apply", { plan: "fix" });
      assert.ok(refused.isError);
      assert.match(refused.text, /is not approved/);
      assert.equal(place.read("app/prices.txt"), "10\n");

      place.done("approve", plan.id, "--digest", asked.digest);
      assert.equal((await client.done("plan_request_review", { plan: "fix" })).status, "approved");
      assert.equal(review(), "approved");
      assert.equal((await client.done("plan_apply", { plan: "fix" })).state, "applied");
      assert.equal(place.read("app/prices.txt"), "11\n");
    });
  }

  it("[V9] lets an agent merge what others changed, and settle what could not be merged", async () => {
    using place = new Workplace();
    await using client = await serving(place, "--allow-apply", "always");
    place.write("app/both.txt", "a\nb\nc\nd\ne\n");
    await client.done("plan_write", { path: "prices.txt", text: "11\n" });
    await client.done("plan_write", { path: "both.txt", text: "A\nb\nc\nd\ne\n" });
    place.write("app/prices.txt", "12\n");
    place.write("app/both.txt", "a\nb\nc\nd\nE\n");
    const refused = await client.call("plan_apply");
    assert.match(refused.text, /plan_update merges what others changed/);
    const { merged, marked } = await client.done("plan_update");
    const paths = (found: readonly { path: string }[]) => found.map(({ path }) => path);
    assert.deepEqual([paths(merged), paths(marked)], [["both.txt"], ["prices.txt"]]);
    assert.equal((await client.done("plan_resolve", { path: "prices.txt", how: "ours" })).how, "ours");
    assert.equal((await client.done("plan_apply")).state, "applied");
    assert.deepEqual([place.read("app/prices.txt"), place.read("app/both.txt")], ["11\n", "A\nb\nc\nd\nE\n"]);
  });

  it("[P8] lands nothing after an approval that the agent has outrun, and nothing at all without the tool for it", async () => {
    using place = new Workplace();
    await using client = await serving(place);
    await client.done("plan_write", { path: "prices.txt", text: "11\n" });
    const { planId, digest } = await client.done("plan_request_review");
    place.done("approve", planId, "--digest", digest);
    await client.done("plan_write", { path: "prices.txt", text: "99\n" });
    const refused = await client.call("plan_apply");
    assert.ok(refused.isError);
    assert.match(refused.text, /that approval is void/);
    assert.equal((await client.done("plan_request_review")).status, "void");
    assert.equal(place.read("app/prices.txt"), "10\n");

    const inside = await client.done("plan_exec", {
      command: [place.environment["DRYDOCK"], "approve", planId],
    });
    assert.notEqual(
      inside.exitCode,
      0,
      "a command inside can't reach the state directory, so it can't approve",
    );

    await using another = await McpClient.start(place, ["--plan", planId, "--allow-apply", "never"]);
    assert.deepEqual(
      (await another.tools()).map(({ name }) => name),
      TOOLS.filter((name) => name !== "plan_apply"),
    );
    await using trusted = await McpClient.start(place, ["--plan", planId, "--allow-apply", "always"]);
    assert.equal((await trusted.done("plan_apply")).state, "applied");
    assert.equal(place.read("app/prices.txt"), "99\n");
  });

  it("[P7] keeps its answers small, says what it cut, and gives the rest on demand", async () => {
    using place = new Workplace();
    await using client = await serving(place);
    const script =
      "seq 100000; i=0; while [ $i -lt 150 ]; do echo $i > file$i; i=$((i+1)); done; seq 40000 > long";
    const ran = await client.done("plan_exec", { script });
    assert.deepEqual(ran.truncated, { stdout: true, stderr: false });
    assert.ok(ran.stdout.length < 11_000);
    assert.match(ran.stdout, /^1\n2\n[\s\S]*bytes left out[\s\S]*\n100000\n$/);

    const first = await client.done("plan_diff");
    const second = await client.done("plan_diff", { after: first.next });
    assert.deepEqual([first.changes.length, second.changes.length, second.next], [100, 51, undefined]);

    const piece = await client.done("plan_read", { path: "long" });
    const whole = readLong(place);
    assert.equal(piece.size, whole.length);
    const rest = await client.done("plan_read", { path: "long", offset: piece.next, length: 10 });
    assert.equal(rest.text, whole.slice(piece.next, piece.next + 10));
    const { planId } = first;
    assert.match(await client.resource(`drydock://plans/${planId}/patch/long`), /^\+40000$/m);
  });

  it("[P7] gives the rows of a database as values that every reader of JSON keeps exactly", async () => {
    using place = new Workplace();
    using database = new DatabaseSync(join(place.path, "shop.db"));
    database.exec("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, price REAL, image BLOB)");
    await using client = await McpClient.start(place, ["-r", "shop.db"]);
    const script = `INSERT INTO items VALUES (1, 'boat', 0.5, x'00ff'), (9007199254740993, NULL, 9e999, NULL);
      SELECT * FROM items`;
    const { results } = await client.done("plan_sql", { script });
    assert.deepEqual(results.at(-1), {
      columns: ["id", "name", "price", "image"],
      rows: [
        [1, "boat", 0.5, { base64: "AP8=" }],
        ["9007199254740993", null, "Infinity", null],
      ],
      ...{ changes: 0, more: 0 },
    });
  });

  it("gives a handle for a long command, ends it on demand, and ends all of them with the client", async () => {
    using place = new Workplace();
    await using client = await serving(place);
    const started = await client.done("plan_exec", { script: "echo up; sleep 1000", waitSeconds: 0 });
    assert.deepEqual([started.running, typeof started.handle], [true, "string"]);
    const stopped = await client.call("plan_exec", { handle: started.handle, stop: true });
    assert.ok(stopped.isError);
    assert.match(stopped.text, /its caller aborted it/);
    const limited = await client.call("plan_exec", { script: "sleep 1000", timeoutSeconds: 1 });
    assert.match(limited.text, /ended after 1 s, its timeoutSeconds/);

    const { handle } = await client.done("plan_exec", { script: "sleep 4321", waitSeconds: 1 });
    assert.equal(typeof handle, "string");
    assert.ok(isRunning("sleep\u00004321"));
    await client[Symbol.asyncDispose]();
    for (let tries = 0; tries < 2000 && isRunning("sleep\u00004321"); tries += 1) await setTimeout(10);
    assert.equal(isRunning("sleep\u00004321"), false);
  });

  it("[X5] answers wrong calls by a sentence, and goes on", async () => {
    using place = new Workplace();
    await using client = await serving(place);
    for (const [name, args, expected] of [
      ["plan_show", { plan: "nope" }, /no plan|nope/i],
      ["plan_read", { path: "../../etc/passwd" }, /./],
      ["plan_write", { path: "x" }, /content is missing/],
      ["plan_exec", {}, /command is missing/],
      ["plan_exec", { handle: "gone" }, /no running command/],
      ["plan_sql", { script: "SELECT 1" }, /./],
      ["plan_create", { resources: [] }, /./],
    ] as const) {
      const answer = await client
        .call(name, args)
        .catch((error: Error) => ({ isError: true, text: error.message }));
      assert.ok(answer.isError, name);
      assert.match(answer.text, expected, name);
      assert.doesNotMatch(answer.text, /defect of Drydock|\n\s+at /, name);
    }
    assert.equal((await client.done("plan_list")).plans.length, 1);
    assert.ok(existsSync(join(place.path, "app/prices.txt")));
  });
});

function readLong(place: Workplace): string {
  return place.done("plan", "read", place.answer("plan", "list").plans[0].id, "app", "long");
}

/** Whether a process with these words, each ended by a zero byte, runs. */
function isRunning(words: string): boolean {
  return readdirSync("/proc").some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").startsWith(words);
    } catch {
      // No process, or one that has ended.
      return false;
    }
  });
}

// The protocol's own tools take 160 MB to install.
if (IS_LONG) await import("./mcp-suites.ts");
