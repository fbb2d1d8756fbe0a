import { describe, it } from "node:test";
import { expire, purge } from "./cleanup-scenarios.ts";
import { disturb } from "./disturb.ts";
import { errorCases } from "./error-cases.ts";
import type { WorldOptions } from "./world.ts";

const COPY: WorldOptions = { strategy: "filesystem_copy" };
const SMALL: WorldOptions = { ...COPY, isSmall: true };
/** What every operation passes is tried with others too. */
const OWN = /^(?:cleanup|workspace|landings)\./;

describe("SIGKILL at every failpoint, in cleaning up", () => {
  it("[C1][C2][A17] a crash in purge leaves what the next one removes", (t) =>
    disturb(t, purge, SMALL, { own: OWN, some: 3 }));
  it("[A17][A18] a crash in the expiry of an undo record only delays it", (t) =>
    disturb(t, expire, SMALL, { own: OWN, some: 3 }));
});

describe("an error at every failpoint, in cleaning up", () => {
  it("[A5][C3] in purge: it says so, and the next one removes the rest", (t) =>
    disturb(t, purge, SMALL, { by: errorCases, some: 5 }));
  it("[A5][A18] in the expiry of an undo record: the next start goes on with it", (t) =>
    disturb(t, expire, SMALL, { by: errorCases, some: 4 }));
});
