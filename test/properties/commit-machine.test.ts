import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { advance, nextEffect } from "../../src/core/commit-machine.ts";
import type { ParticipantKind } from "../../src/core/transaction.ts";
import { CommitWorld, Died, FATES, type Fate } from "./commit-world.ts";
import { runs } from "./property-runs.ts";

/** In the order in which they take part. */
const participants = fc
  .record({
    "two-phase": fc.array(fc.boolean(), { maxLength: 3 }),
    reversible: fc.array(fc.constant(true), { maxLength: 2 }),
    irreversible: fc.array(fc.constant(true), { maxLength: 1 }),
    "in-place": fc.array(fc.constant(true), { maxLength: 1 }),
  })
  .map((byKind) =>
    Object.entries(byKind).flatMap(([kind, all]) =>
      all.map((hasWork) => ({ kind: kind as ParticipantKind, hasWork })),
    ),
  );

/** What happens to the steps of each life, one process after the other. */
const lives = fc.array(fc.array(fc.constantFrom(...FATES), { maxLength: 12 }), { maxLength: 6 });

/**
 * Lives until it is over: those given, then one to which nothing happens, with a person settling what is in
 * doubt.
 */
function live(
  world: CommitWorld,
  fates: readonly (readonly Fate[])[],
  word: "commit" | "abort",
  onDoubt?: () => void,
): void {
  for (const life of [...fates, [], []]) {
    runOnce(world, life);
    if (world.record.phase !== "in-doubt") continue;
    onDoubt?.();
    world.settle(word);
  }
}

function runOnce(world: CommitWorld, life: readonly Fate[]): void {
  try {
    world.run(life[Symbol.iterator]());
  } catch (thrown) {
    if (!(thrown instanceof Died)) throw thrown;
  }
}

describe("the commit machine, against a simple model", () => {
  const word = fc.constantFrom("commit" as const, "abort" as const);

  it("[A1] lands all or nothing, whatever fails or dies, and however often", () => {
    fc.assert(
      fc.property(participants, lives, word, (all, fates, settledBy) => {
        const world = new CommitWorld(all);
        let isTold = false;
        live(world, fates, settledBy, () => {
          isTold = settledBy === "commit";
        });
        const { phase, participants: ended } = world.record;
        assert.ok(phase === "done" || phase === "aborted", `it ended ${phase}`);
        ended.forEach(({ kind, status }, index) => {
          if (kind === "in-place" || all[index]?.hasWork === false) return;
          // A person who says that it landed is believed.
          const isDoubtful = kind === "irreversible" && isTold;
          if (phase === "done" && !isDoubtful)
            assert.equal(world.places[index], "original", `${kind} ${index} has landed`);
          // [A4] What is not where it was is not called undone.
          if (phase === "aborted" && status !== "not-undone")
            assert.equal(world.places[index], "sandbox", `${kind} ${index}, ${status}, is as before`);
        });
      }),
      runs(1250, 5),
    );
  });

  it("never lands after it began to take back, nor takes back after it decided", () => {
    fc.assert(
      fc.property(participants, lives, word, (all, fates, settledBy) => {
        const world = new CommitWorld(all);
        live(world, fates, settledBy);
        const first = (start: string) => world.deeds.findIndex((deed) => deed.startsWith(start));
        assert.ok(first("land") < 0 || first("take-back") < 0, world.deeds.join(", "));
      }),
      runs(1250, 5),
    );
  });

  it("[A6] commits what can't be taken back only when all the others are ready, and takes back in reverse", () => {
    fc.assert(
      fc.property(participants, lives, word, (all, fates, settledBy) => {
        const world = new CommitWorld(all);
        live(world, fates, settledBy);
        const at = world.deeds.findIndex((deed) => deed.startsWith("commit-irreversible"));
        if (at >= 0) {
          const before = world.deeds.slice(0, at);
          all.forEach(({ kind }, index) => {
            if (kind === "two-phase") assert.ok(before.includes(`prepare ${index}`), `${index} is prepared`);
            if (kind === "reversible")
              assert.ok(before.includes(`commit-reversible ${index}`), `${index} is committed`);
          });
        }
        const undone = takenBackInOneLife(world.deeds);
        assert.deepEqual(
          undone,
          undone.toSorted((a, b) => b - a),
        );
      }),
      runs(1250, 5),
    );
  });

  it("[A16] asks a person only where something that can't be taken back had started", () => {
    fc.assert(
      fc.property(participants, lives, (all, fates) => {
        const world = new CommitWorld(all);
        live(world, fates, "abort", () => {
          const doubtful = world.record.participants.find(({ kind }) => kind === "irreversible");
          assert.equal(doubtful?.status, "started");
          assert.ok(!world.deeds.includes("decide"), "nothing was decided");
        });
      }),
      runs(500, 3),
    );
  });

  it("[A3] recovering twice is recovering once, and what is over stays over", () => {
    fc.assert(
      fc.property(participants, lives, word, (all, fates, settledBy) => {
        const world = new CommitWorld(all);
        runOnce(world, fates[0] ?? []);
        const once = advance(world.record, { was: "recovered" });
        assert.deepEqual(advance(once, { was: "recovered" }), once);
        live(world, fates.slice(1), settledBy);
        const [over, places] = [world.record, [...world.places]];
        assert.equal(nextEffect(over), undefined);
        runOnce(world, []);
        assert.deepEqual(world.record, over);
        assert.deepEqual(world.places, places);
      }),
      runs(750, 4),
    );
  });
});

/**
 * The order in which the last life took back; each life may begin anew with what the one before had not
 * recorded.
 */
function takenBackInOneLife(deeds: readonly string[]): number[] {
  const from = deeds.findLastIndex((deed) => !deed.startsWith("take-back") && deed !== "abort");
  const indexes = deeds
    .slice(from + 1)
    .flatMap((deed) => (deed === "abort" ? [] : [Number(deed.split(" ")[1])]));
  const restart = indexes.findLastIndex((index, at) => at > 0 && index >= (indexes[at - 1] as number));
  return indexes.slice(Math.max(0, restart));
}
