import { after, before, describe, it } from "node:test";
import { type Mounted, mountWithoutExchange, whyNoFuse } from "../support/file-systems.ts";
import { IS_LONG } from "../support/long-form.ts";
import { disturb, killAt } from "./disturb.ts";
import { landWhileMakingAnew } from "./rival-scenarios.ts";
import { apply, create, giveUp, recoveryAfter, undo } from "./scenarios.ts";
import type { WorldOptions } from "./world.ts";

/** The points that are passed only here, or at which something else is where. */
const STEPS = /^(?:exchange\.|land\.(?:add|exchange|remove)|move\.drop)/;

describe("SIGKILL at every failpoint, where two names can't be exchanged", {
  skip: whyNoFuse() ?? false,
}, () => {
  let mounted: Mounted;
  before(() => {
    mounted = mountWithoutExchange();
  });
  after(() => mounted.remove());
  // A rich tree takes long, because every call goes to a program.
  const here = (): WorldOptions => ({
    strategy: "filesystem_copy",
    isSmall: !IS_LONG,
    places: IS_LONG ? [{ folder: mounted.path }, { folder: mounted.path }] : [{ folder: mounted.path }],
  });

  it("[W1][C2] a crash in create leaves a whole plan or none", (t) =>
    disturb(t, create, here(), { at: /^workspace\.note-steps/ }));
  it("[W1][A3][A7] a crash in apply leaves every original old or every one new", (t) =>
    disturb(t, apply, here(), { at: STEPS }));
  it("[W1][A3] a crash in undo leaves every original new or every one old", (t) =>
    disturb(t, undo, here(), { at: STEPS }));
  for (const point of ["exchange.in:1", "move.drop-old:4"])
    it(`[W1][A3] so does one in the recovery from a crash in apply at ${point}`, (t) =>
      disturb(t, recoveryAfter(apply, `${point}=kill`), here(), { at: /^exchange/ }));
  it("[W1][A3][A19] a crash in keeping what was made anew in the moment between two steps loses nothing", () =>
    killAt(landWhileMakingAnew, { ...here(), isSmall: true }, "exchange.keep-before"));
  if (IS_LONG)
    it("[W1][A3][A7] a crash in giving up a landing leaves every original old or every one new", (t) =>
      disturb(t, giveUp, here()));
});
