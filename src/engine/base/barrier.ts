import { UnsupportedError } from "../../core/errors/errors.ts";
import { compareTimes, type Facts, isoTime, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { failpoint } from "../../system/failpoints.ts";

/**
 * The barrier T0, which tells whether an entry of an original has changed since, without a list of the whole
 * tree.
 *
 * We create a probe file on the same file system and touch it until its change time moves; that time is T0.
 * Every existing entry has a change time below T0, and every later change gives an entry a change time at or
 * above T0. No program can set a change time.
 */
const PROBE = "clock-probe";
const POINTS = {
  create: failpoint("barrier.create"),
  touch: failpoint("barrier.touch"),
  remove: failpoint("barrier.remove"),
};

export function takeBarrier(folder: Folder): Time {
  removeProbe(folder);
  closeFile(folder.createFile(POINTS.create, PROBE, 0o600));
  let first = probeTime(folder);
  for (let mode = 0o400; ; mode ^= 0o200) {
    folder.setMode(POINTS.touch, PROBE, mode);
    const now = probeTime(folder);
    // The clock was set back between the two stats.
    if (compareTimes(now, first) < 0) first = now;
    if (compareTimes(now, first) > 0) {
      folder.removeFile(POINTS.remove, PROBE);
      return now;
    }
  }
}

/** Whether an entry was changed, in any way, at or after the barrier. */
export function isAfter(facts: Pick<Facts, "ctime">, barrier: Time): boolean {
  return compareTimes(facts.ctime, barrier) >= 0;
}

/** Refuses to compare times if the clock went back: changes made since could look older than they are. */
export function assertClockWentOn(barrier: Time, now: Time): void {
  if (compareTimes(now, barrier) >= 0) return;
  throw new UnsupportedError(
    `The clock of this machine was set back to before the sandbox was made (${isoTime(barrier)}).`,
    {
      hint: "Whether the originals changed since can't be told. Correct the clock, or make a new plan.",
    },
  );
}

function probeTime(folder: Folder): Time {
  return folder.facts(PROBE)?.ctime ?? [0, 0];
}

/** Removes a probe file that a crash left. */
function removeProbe(folder: Folder): void {
  if (folder.facts(PROBE) !== undefined) folder.removeFile(POINTS.remove, PROBE);
}
