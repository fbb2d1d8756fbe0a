import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isHeld } from "./claim.ts";
import { countsOnLeaseUntil, isAlive, LEASE_TERMS, renewLease, takeLease } from "./lease.ts";
import { isCurrent, registered, registrationProblem, withNotes } from "./registration.ts";

const { lengthMs } = LEASE_TERMS;

describe("a lease", () => {
  const first = takeLease(undefined, 0, 1_000, LEASE_TERMS);

  it("is renewed in its epoch and only before it runs out", () => {
    assert.deepEqual(first, { epoch: 1, until: 1_000 + lengthMs });
    assert.deepEqual(renewLease(first, 1, 2_000, LEASE_TERMS), { epoch: 1, until: 2_000 + lengthMs });
    assert.equal(renewLease(first, 1, 1_000 + lengthMs, LEASE_TERMS), undefined);
    assert.equal(renewLease(first, 2, 2_000, LEASE_TERMS), undefined);
  });

  it("is taken in a new epoch, and not by a request that arrives late", () => {
    const second = takeLease(first, 1, 5_000, LEASE_TERMS);
    assert.equal(second?.epoch, 2);
    assert.equal(isAlive(second, 1, 5_000), false);
    assert.equal(takeLease(second, 0, 6_000, LEASE_TERMS), undefined);
    assert.equal(takeLease(second, 1, 6_000, LEASE_TERMS), undefined);
  });

  it("is counted on for less than it lasts, from before it was asked for", () => {
    assert.ok(countsOnLeaseUntil(100, LEASE_TERMS) < 100 + lengthMs);
  });
});

describe("claims", () => {
  const holder = { host: "app1", epoch: 1, process: "p" };

  it("of a transaction outlast the lease of who began it; others do not", () => {
    assert.equal(
      isHeld({ work: "t", scope: "transaction", holder }, () => false),
      true,
    );
    assert.equal(
      isHeld({ work: "o", scope: "operation", holder }, () => false),
      false,
    );
    assert.equal(
      isHeld({ work: "o", scope: "operation", holder }, () => true),
      true,
    );
    assert.equal(
      isHeld(undefined, () => true),
      false,
    );
  });
});

describe("the name of a host", () => {
  const first = { directory: "d", earlier: [], start: "1", notes: 0 };
  const known = withNotes(registered(first), 7);

  it("goes from start to start of one directory", () => {
    assert.equal(registrationProblem(undefined, first), undefined);
    assert.equal(
      registrationProblem(known, { directory: "d", earlier: ["1"], start: "2", notes: 7 }),
      undefined,
    );
  });

  it("is given again to a start whose answer was lost", () => {
    assert.equal(registrationProblem(known, { ...first, notes: 7 }), undefined);
  });

  it("goes on from a start that a process asked for before it died", () => {
    const next = { directory: "d", earlier: ["0", "1"], start: "2", notes: 7 };
    assert.equal(registrationProblem(known, next), undefined);
    // That request arrives late, and takes nothing from the next one.
    const late = { ...first, earlier: ["0"], notes: 7 };
    assert.equal(registrationProblem(registered(next), late), "other-copy");
  });

  it("is refused to another directory, another copy, and a copy that lacks what was noted", () => {
    assert.equal(registrationProblem(known, { ...first, directory: "e" }), "other-directory");
    const copy = { directory: "d", earlier: ["1"], start: "2a", notes: 7 };
    assert.equal(registrationProblem(registered({ ...copy, start: "2b" }), copy), "other-copy");
    assert.equal(registrationProblem(known, { ...copy, notes: 6 }), "older-copy");
  });

  it("is spoken for by its last start only", () => {
    assert.equal(isCurrent(known, registered(first)), true);
    assert.equal(isCurrent(registered({ ...first, earlier: ["1"], start: "2" }), registered(first)), false);
  });
});
