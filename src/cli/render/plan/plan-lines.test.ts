import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PlanView } from "../../../plans/plan-views.ts";
import { NO_STYLES } from "../styles.ts";
import { planLines, planListLines } from "./plan-lines.ts";

const plan: PlanView = {
  id: "01JCRD0000000000000000000A",
  name: "fix",
  state: "open",
  readOnly: false,
  createdAt: "2025-11-15T20:53:11.000Z",
  resources: [
    {
      name: "app",
      type: "fs-directory",
      location: "/srv/app",
      strategy: "filesystem_copy",
      why: "the strongest that works here",
      status: "ACTIVE",
      path: "/state/app",
    },
  ],
};

describe("plans for people", () => {
  it("[L7] are a table with the time in UTC", () => {
    const old = { ...plan, name: "a longer name", state: "applied", readOnly: true, resources: [] } as const;
    assert.deepEqual(planListLines([plan, old], NO_STYLES), [
      "ID                          NAME           STATE               CREATED                   RESOURCES",
      "01JCRD0000000000000000000A  fix            open                2025-11-15T20:53:11.000Z  app",
      "01JCRD0000000000000000000A  a longer name  applied, read-only  2025-11-15T20:53:11.000Z",
    ]);
    const waiting = planListLines([{ ...plan, review: "asked" }], NO_STYLES);
    assert.match(waiting[1] ?? "", /open, waiting for review/);
    assert.deepEqual(planListLines([], NO_STYLES), [
      "There are no plans. Make one with 'drydock plan create'.",
    ]);
  });

  it("[S5] [L6] are shown with the message, and each resource with its strategy and why it has that one", () => {
    assert.deepEqual(planLines({ ...plan, message: "first\nsecond" }, NO_STYLES), [
      "id       01JCRD0000000000000000000A",
      "name     fix",
      "state    open",
      "created  2025-11-15T20:53:11.000Z",
      "message  first\\nsecond",
      "",
      "app",
      "  original  /srv/app (fs-directory)",
      "  strategy  filesystem_copy: the strongest that works here",
      "  sandbox   /state/app (ACTIVE)",
    ]);
  });

  it("say why a sandbox can't be used, and nothing of a place that is gone", () => {
    const [resource] = plan.resources;
    const errored = { ...resource!, status: "ERRORED", error: "the disk is gone", path: null } as const;
    assert.deepEqual(planLines({ ...plan, resources: [errored] }, NO_STYLES).slice(-2), [
      "  sandbox   ERRORED",
      "  error     the disk is gone",
    ]);
  });
});
