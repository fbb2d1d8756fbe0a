import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { loadStrategy } from "../../src/strategies/custom/load-strategy.ts";
import { runConformance } from "../../src/testing/index.ts";
import { chosenCases } from "../conformance/describe-conformance.ts";
import { COMPILED } from "../support/compile-cache.ts";
import { IS_LONG } from "../support/long-form.ts";

const folder = join(import.meta.dirname, "../../examples/python-strategy");

describe("The example of a strategy in Python", () => {
  it("[P11] passes the conformance suite", async () => {
    const module = "exec:./document_strategy.py";
    const declared = {
      name: "python_document",
      module,
      className: "",
      limitMilliseconds: 0,
      folder,
      place: "here",
    };
    const environment = { PATH: process.env["PATH"] ?? "", ...COMPILED };
    const { make, module: made } = await loadStrategy(declared, environment);
    assert.ok(made !== undefined);
    const { makeDocument } = await import(join(folder, "document-resource.mjs"));
    const report = await runConformance(
      {
        create: (context) => make({ ...context, environment }),
        makeResource: makeDocument,
        module: { ...made, environment },
      },
      {
        // Every case with crashes starts dozens of processes, so only the long form has these.
        cases: chosenCases({ oneIn: 3 }).filter(({ group }) => IS_LONG || group !== "crash"),
      },
    );
    assert.deepEqual(report.failed, []);
    assert.ok(report.passed.length > (IS_LONG ? 30 : 10));
  });
});
