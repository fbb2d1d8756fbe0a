import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ApplyResult } from "../../plans/landing-views.ts";
import { recoveryLines } from "./machine/recovery-lines.ts";
import { applyLines, undoLines } from "./plan/apply-lines.ts";
import { attentionLine } from "./plan/attention-line.ts";
import { NO_STYLES } from "./styles.ts";

const result: ApplyResult = {
  planId: "01A",
  state: "applied",
  participants: [
    { resource: "app", strategy: "filesystem_copy", outcome: "committed", changes: 1 },
    { resource: "data", strategy: "copy_on_write", outcome: "unchanged", changes: 0 },
  ],
  attention: [],
  warnings: [],
};
const plan = { planId: "01A", planName: "fix", direction: "commit", attention: [] } as const;

describe("outcomes for people", () => {
  it("[A13] say of an apply what landed where, and who had nothing to land", () => {
    const participants = ["  app   1 change   filesystem_copy", "  data  unchanged  copy_on_write"];
    assert.deepEqual(applyLines(result), ["Applied plan 01A: 1 change landed.", ...participants]);
    const undone: ApplyResult = { ...result, state: "undone" };
    assert.deepEqual(undoLines(undone), ["Undid plan 01A: 1 change taken back.", ...participants]);
    assert.equal(
      applyLines({ ...result, participants: [] }, { dryRun: true })[0],
      "Plan 01A can be applied: 0 changes would land. Nothing was changed.",
    );
  });

  it("[A1] say of a part that it is one, and what is still there", () => {
    const part: ApplyResult = { ...result, state: "open" };
    assert.equal(
      applyLines(part)[0],
      "Applied a part of plan 01A: 1 change landed. The rest stays in the plan.",
    );
    assert.equal(
      applyLines(part, { isWhole: true })[0],
      "Applied plan 01A: 1 change landed. The plan stays open, because commands run in it.",
    );
    assert.equal(undoLines(part)[0], "Undid the last part of plan 01A: 1 change taken back.");
    assert.equal(
      undoLines(result)[0],
      "Undid the last landing, but not the parts before it, of plan 01A: 1 change taken back.",
    );
  });

  it("[A19] name the path and the copy of what a rival changed", () => {
    const attention = { resource: "app", path: "a\nb", message: "changed meanwhile" };
    assert.equal(attentionLine(attention, NO_STYLES), "attention: app/a\\nb: changed meanwhile");
    const kept = attentionLine({ ...attention, keptAt: "/state/kept/1" }, NO_STYLES);
    assert.equal(kept, "attention: app/a\\nb: changed meanwhile; kept at /state/kept/1");
  });

  it("[A16] say of a recovery what was settled, and how to settle what is in doubt", () => {
    const nothing = { finished: [], undone: [], cleaned: [], pending: [] };
    assert.deepEqual(recoveryLines(nothing, NO_STYLES), ["There is nothing to recover."]);
    const report = {
      finished: [plan],
      undone: [{ ...plan, direction: "undo" } as const],
      cleaned: [{ planId: "01B", what: "a half made sandbox" }],
      pending: [
        { ...plan, why: "the server is down", inDoubt: false },
        { ...plan, why: "nobody knows whether it landed", inDoubt: true },
      ],
    };
    assert.deepEqual(recoveryLines(report, NO_STYLES), [
      "finished the apply of fix (01A)",
      "took back the unfinished undo of fix (01A)",
      "removed a half made sandbox of plan 01B",
      "pending: the apply of fix (01A): the server is down",
      "  if that can't be mended, 'drydock recover 01A --abandon' ends the plan as it is",
      "in doubt: the apply of fix (01A): nobody knows whether it landed",
      "  settle it with 'drydock recover 01A --commit' or '--abort'",
    ]);
  });
});
