import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withDefaults } from "../../core/capabilities.ts";
import { doctorLines } from "./machine/doctor-lines.ts";
import { strategyLines } from "./machine/strategy-lines.ts";
import { NO_STYLES } from "./styles.ts";

describe("the machine for people", () => {
  it("[S5] [S8] is what works, the strategies strongest first, and what each type would get", () => {
    const report = {
      node: "24.1.0",
      kernel: "6.1.0",
      platform: "linux",
      stateDir: "/state",
      checks: [
        { name: "kernel", ok: true, detail: "6.1.0 is at least 5.15" },
        { name: "state", ok: false, detail: "read-only" },
      ],
      strategies: [
        { name: "none", works: true, detail: "always", strength: 0 },
        { name: "overlay", works: false, detail: "not root", strength: 40 },
      ],
      resourceTypes: [{ type: "fs-file", strategy: "none", why: "the strongest that works" }],
    };
    assert.deepEqual(doctorLines(report, NO_STYLES), [
      "machine  linux, kernel 6.1.0, Node 24.1.0",
      "state    /state",
      "",
      "Checks",
      "ok  kernel  6.1.0 is at least 5.15",
      "no  state   read-only",
      "",
      "Strategies, strongest first",
      "no  overlay  40  not root",
      "ok  none     0   always",
      "",
      "What each type of resource would get",
      "fs-file  none  the strongest that works",
    ]);
  });

  it("[S7] is what each strategy declares of itself", () => {
    const strategies = [
      {
        name: "overlay",
        builtIn: true,
        ...withDefaults({ commit: "two-phase", strength: 40, isolation: "view" }),
      },
      {
        name: "mine",
        builtIn: false,
        ...withDefaults({ commit: "one-phase", resourceTypes: ["fs-file", "x"] }),
      },
    ];
    assert.deepEqual(strategyLines(strategies, NO_STYLES), [
      "NAME     STRENGTH  COMMIT     UNDO  CHECKPOINT  ISOLATION  FOR",
      "overlay  40        two-phase  yes   yes         view       every type",
      "mine     5         one-phase  no    yes         copy       fs-file, x  custom",
    ]);
  });
});
