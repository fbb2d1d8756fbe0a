import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PlanRecord } from "../core/plan.ts";
import { commandEnvironment } from "./environment.ts";

function planOver(type: string, name: string, location = "/here"): PlanRecord {
  const resource = { id: "r", name, type, location, properties: {} };
  const facts = { readOnly: false, allowIrreversible: false, createdAt: "2026-01-01T00:00:00.000Z" };
  return {
    id: "01PLAN",
    name: "p",
    state: "open",
    ...facts,
    resources: [{ resource, strategy: "overlay", why: "" }],
  };
}

describe("commandEnvironment", () => {
  const inherited = { PATH: "/bin", PGHOST: "db", DATABASE_URL: "x", MYSQL_PWD: "y", NOTHING: undefined };

  it("adds the plan and its resources to what is inherited", () => {
    const { plain, exact } = commandEnvironment(planOver("fs-directory", "my-app é.1"), inherited, {
      MORE: "1",
    });
    assert.deepEqual(exact, []);
    assert.deepEqual(plain, {
      ...{ PATH: "/bin", PGHOST: "db", DATABASE_URL: "x", MYSQL_PWD: "y" },
      ...{ DRYDOCK_PLAN: "01PLAN", DRYDOCK_RESOURCE_MY_APP___1: "/here", MORE: "1" },
    });
  });

  it("leaves out what leads to a database server if the plan holds a transaction there, whatever its type is called", () => {
    const names = (type: string, url: string) =>
      Object.keys(commandEnvironment(planOver(type, "db", url), inherited, {}).plain);
    assert.deepEqual(names("postgres-database", "postgres://me@here/db"), [
      "PATH",
      "MYSQL_PWD",
      "DRYDOCK_PLAN",
    ]);
    assert.deepEqual(names("my-own", "postgresql://me@here/db"), ["PATH", "MYSQL_PWD", "DRYDOCK_PLAN"]);
    assert.deepEqual(names("mysql-database", "mariadb://me@here/db"), ["PATH", "PGHOST", "DRYDOCK_PLAN"]);
  });

  it("sets apart what the shell that starts a command would drop, or must not have", () => {
    const odd = { "a-b": "1", LD_PRELOAD: "/lib.so", BYTES: "x\udcff", OLDPWD: "/old", PLAIN: "é😀" };
    const { plain, exact } = commandEnvironment(planOver("fs-directory", "a"), odd, {});
    assert.deepEqual(exact, [
      ["a-b", "1"],
      ["LD_PRELOAD", "/lib.so"],
    ]);
    for (const name of ["BYTES", "OLDPWD", "PLAIN"] as const) assert.equal(plain[name], odd[name]);
  });
});
