import { describe, it } from "node:test";
import { killAt } from "./disturb.ts";
import { createWhileChanging, deleteWhileChanging, landWhileMoving } from "./rival-scenarios.ts";
import type { WorldOptions } from "./world.ts";

const COPY: WorldOptions = { strategy: "filesystem_copy" };

describe("SIGKILL at a failpoint that is only passed because of a rival", () => {
  it("[C2][A17] a crash in copying a file again leaves a whole plan or none", () =>
    killAt(createWhileChanging, COPY, "copy.remove-changed"));
  it("[A3][A19] a crash in giving back what was to be deleted loses nothing", () =>
    killAt(deleteWhileChanging, COPY, "land.give-back"));
  it("[A3][A19] a crash in leaving a folder that was moved away loses nothing", () =>
    killAt(landWhileMoving, COPY, "land.leave-folder"));
});
