import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { Workplace } from "../end-to-end/workplace.ts";
import { Served, textOf } from "./served.ts";

describe("reviews by 'drydock serve'", () => {
  it("[P4] show each change with its digest and both sides, and take votes, looks, comments and verdicts", async () => {
    using place = new Workplace();
    place.folder("app", { "prices.txt": "10\n", "gone.txt": "x\n" });
    place.done("plan", "create", "--name", "fix", "-r", "app,strategy=filesystem_copy");
    place.drydock(["plan", "write", "fix", "app", "prices.txt"], { input: "11\n" });
    await using served = await Served.start(place);
    const { client } = served;
    const params = { path: { plan: "fix" } };
    const page = async () => {
      const { data } = await client.GET("/v1/plans/{plan}/review/changes", { params });
      assert.ok(data !== undefined);
      return data;
    };

    const [change] = (await page()).changes;
    assert.ok(change !== undefined);
    assert.deepEqual([change.path, change.seen, change.vote], ["prices.txt", false, undefined]);
    const target = { resource: "app", path: change.path, digest: change.digest };
    await client.POST("/v1/plans/{plan}/review/votes", {
      params,
      body: { vote: "approved", targets: [target] },
    });
    await client.POST("/v1/plans/{plan}/review/looks", { params, body: { targets: [target] } });
    const { changes, votes, unseen } = await page();
    assert.deepEqual([changes[0]?.vote, changes[0]?.seen, unseen], ["approved", true, 0]);
    assert.deepEqual(votes, { approved: 1, rejected: 0, partly: 0, open: 0 });

    const { data: inHunks } = await client.GET("/v1/plans/{plan}/review/hunks", {
      params: { ...params, query: { path: "prices.txt" } },
    });
    assert.deepEqual(
      inHunks?.hunks.map(({ lines, vote }) => [lines, vote]),
      [[["-10", "+11"], "approved"]],
    );
    const said = await client.POST("/v1/plans/{plan}/review/comments", {
      params,
      body: { text: "why 11?", resource: "app", path: "prices.txt", line: 1, side: "after" },
    });
    assert.ok(said.data !== undefined);
    const ofComment = { path: { plan: "fix", comment: said.data.id } };
    await client.PUT("/v1/plans/{plan}/review/comments/{comment}", {
      params: ofComment,
      body: { resolved: true },
    });
    const { digest } = await page();
    await client.POST("/v1/plans/{plan}/review/changes-asked", {
      params,
      body: { digest, message: "explain" },
    });
    const { data: review } = await client.GET("/v1/plans/{plan}/review", { params });
    assert.deepEqual(
      [review?.verdict?.verdict, review?.verdict?.message, review?.verdict?.via],
      ["changes asked", "explain", "api"],
    );
    assert.deepEqual(
      review?.comments.map(({ text, line, resolved }) => [text, line, resolved?.actor]),
      [["why 11?", 1, review?.verdict?.actor]],
    );
    await client.DELETE("/v1/plans/{plan}/review/comments/{comment}", { params: ofComment });
    assert.deepEqual((await client.GET("/v1/plans/{plan}/review", { params })).data?.comments, []);

    const content = async (query: string, headers: { readonly [name: string]: string } = {}) => {
      const answer = await served.raw(`/v1/plans/fix/review/content?path=prices.txt&${query}`, { headers });
      return [answer.statusCode, await textOf(answer)];
    };
    assert.deepEqual(await content("side=before"), [200, "10\n"]);
    assert.deepEqual(await content(`side=after&digest=${change.after?.digest}`), [200, "11\n"]);
    assert.deepEqual(await content("side=after", { range: "bytes=1-1" }), [206, "1"]);
    assert.equal((await content(`side=before&digest=${change.after?.digest}`))[0], 409);
  });

  it("[P4] give the changed rows of a database, page by page", async () => {
    using place = new Workplace();
    using database = new DatabaseSync(join(place.path, "shop.db"));
    database.exec("CREATE TABLE items (id INTEGER PRIMARY KEY, price); INSERT INTO items VALUES (1, 10)");
    place.done("plan", "create", "--name", "fix", "-r", "shop.db");
    place.done(
      "plan",
      "sql",
      "fix",
      "shop.db",
      "-c",
      "UPDATE items SET price = 11; INSERT INTO items VALUES (2, NULL)",
    );
    await using served = await Served.start(place);
    const page = async (query: { readonly cursor?: string }) => {
      const { data } = await served.client.GET("/v1/plans/{plan}/review/rows", {
        params: { path: { plan: "fix" }, query: { path: "items", limit: 1, ...query } },
      });
      assert.ok(data !== undefined);
      return data;
    };
    const first = await page({});
    assert.deepEqual(
      first.rows.map(({ before, after, changed }) => [before?.[1]?.text, after?.[1]?.text, changed]),
      [["10", "11", [1]]],
    );
    assert.deepEqual([first.total, typeof first.next], [2, "string"]);
    const second = await page({ cursor: first.next ?? "" });
    assert.deepEqual(second.rows[0]?.after?.[1], { type: "null", text: "NULL" });
    assert.equal(second.next, undefined);
  });

  it("[P8] takes votes and verdicts only where it takes approvals, and tells a program's comment from a person's", async () => {
    using place = new Workplace();
    place.folder("app", { "prices.txt": "10\n" });
    place.done("plan", "create", "--name", "fix", "-r", "app,strategy=filesystem_copy");
    place.drydock(["plan", "write", "fix", "app", "prices.txt"], { input: "11\n" });
    await using served = await Served.start(place, ["--listen", "127.0.0.1:0"]);
    const { client } = served;
    const params = { path: { plan: "fix" } };
    const { digest } = place.answer("plan", "diff", "fix");
    const refused = [
      await client.POST("/v1/plans/{plan}/review/votes", {
        params,
        body: { vote: "approved", digest, targets: [{}] },
      }),
      await client.POST("/v1/plans/{plan}/review/looks", { params, body: { digest, targets: [{}] } }),
      await client.POST("/v1/plans/{plan}/review/changes-asked", { params, body: { digest } }),
    ];
    assert.deepEqual(
      refused.map(({ error }) => error?.code),
      ["NOT_ALLOWED", "NOT_ALLOWED", "NOT_ALLOWED"],
    );
    const { data } = await client.POST("/v1/plans/{plan}/review/comments", {
      params,
      body: { text: "done" },
    });
    assert.equal(data?.via, "program");
    const { events: _, ...review } = place.answer("plan", "log", "fix");
    assert.ok(!JSON.stringify(review).includes('"voted"'));
  });
});
