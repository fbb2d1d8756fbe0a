import { describe, it } from "node:test";
import { disturb } from "./disturb.ts";
import { checkpoint, commitAlone, restore, rollBackAlone } from "./sandbox-scenarios.ts";
import type { WorldOptions } from "./world.ts";

const COPY: WorldOptions = { strategy: "filesystem_copy" };
/** What is passed on the way to the call is tried with the calls of plans. */
const OWN = { at: /^(?:checkpoint|restore|record|copy\.(?:mark|remove|finish|baseline))\./, some: 4 };
/** What lands is staged and copied as it is by a plan. */
const LANDING = {
  at: /^(?:landings|land|record|restored|copy\.(?:mark|remove|finish))/,
  own: /^landings\.revert/,
  some: 4,
};

describe("SIGKILL at every failpoint, in calls of the strategy itself", () => {
  it("[C6][A17] a crash in checkpoint leaves the work as it is", (t) => disturb(t, checkpoint, COPY, OWN));
  it("[C6][A17] a crash in restoreCheckpoint leaves it to be finished", (t) =>
    disturb(t, restore, COPY, OWN));
  it("[A3][A17] a crash in commit can be rolled back", (t) => disturb(t, commitAlone, COPY, LANDING));
  it("[A3][A17] a crash in rollback of what has landed can be rolled back again", (t) =>
    disturb(t, rollBackAlone, COPY, LANDING));
});
