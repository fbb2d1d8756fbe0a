import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Workplace } from "../end-to-end/workplace.ts";
import { FakeMysql, FakePostgres } from "../support/fake-servers.ts";

describe("A plan on a server that goes silent after the login", () => {
  for (const [scheme, signal, fake] of [
    ["postgres", "SIGINT", () => new FakePostgres("silent")],
    ["postgres", "SIGTERM", () => new FakePostgres("silent")],
    ["mysql", "SIGINT", () => new FakeMysql("silent")],
  ] as const)
    it(`[W4] is given up by ${signal}, and nothing of it is left (${scheme})`, {
      timeout: 60_000,
    }, async () => {
      await using server = await fake().listen();
      using place = new Workplace();
      const create = place.start([
        "plan",
        "create",
        "-r",
        `${scheme}://ada:secret@127.0.0.1:${server.port}/data`,
      ]);
      await create.until(() => server.hasClient);
      create.signal(signal);
      const { status, stderr } = await create.ended();
      assert.deepEqual([status === 0, /nterrupted/.test(stderr)], [false, true], stderr);
      assert.deepEqual(place.answer("plan", "list"), { plans: [] });
      assert.equal(existsSync(join(place.state, "keepers")), false);
    });
});
