import { describe, it } from "node:test";
import { itInLongForm } from "../support/long-form.ts";
import { disturb } from "./disturb.ts";
import { errorCases } from "./error-cases.ts";
import { recoveryAfter } from "./scenarios.ts";
import { keepBases, resolvePath, rollbackUpdated, updatePlan } from "./update-scenarios.ts";
import type { WorldOptions } from "./world.ts";

const isRoot = process.geteuid?.() === 0;
/** A copy and an overlay in one plan. */
const MIXED: WorldOptions = { strategy: ["filesystem_copy", "overlay"], isSmall: true };
const COPY: WorldOptions = { strategy: "filesystem_copy", isSmall: true };
/** What only merging does, and where the base moves. */
const OWN = /^(?:merge\.|copy\.baseline|overlay\.note-base)/;

describe("SIGKILL at the failpoints of merging", () => {
  it("[V9][A17] a crash in an update of copies leaves all of them merged, or none", (t) =>
    disturb(t, updatePlan, COPY, { at: OWN }));
  it(
    "[V9][A17] a crash in an update leaves all sandboxes merged, or none",
    {
      skip: isRoot ? false : "not root, so nothing can be mounted",
    },
    (t) => disturb(t, updatePlan, MIXED, { at: OWN }),
  );
  it(
    "[V9][A17] a crash in resolving a path leaves both versions there",
    {
      skip: isRoot ? false : "not root, so nothing can be mounted",
    },
    (t) => disturb(t, resolvePath, MIXED, { at: OWN }),
  );
  it("[V9] a crash while earlier content is kept loses no work, and no merge", (t) =>
    disturb(t, keepBases, COPY, { at: OWN }));
  it("[V9] a crash in a rollback leaves nothing of an update", (t) =>
    disturb(t, rollbackUpdated, COPY, { at: OWN }));
  itInLongForm("[V9][A17] a crash in the recovery from a crash in an update is just another crash", (t) =>
    disturb(t, recoveryAfter(updatePlan, "merge.note-move:1=kill"), COPY, {
      at: /^(?:restore|checkpoint|merge)\./,
    }),
  );
});

describe("an error at the failpoints of merging", () => {
  it("[V9][A5] an update that fails is taken back everywhere", (t) =>
    disturb(t, updatePlan, COPY, { by: errorCases, at: /^merge\./, some: 3 }));
});
