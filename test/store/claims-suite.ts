import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Owner } from "../../src/core/owner.ts";
import type { Store } from "../../src/store/store.ts";
import { armFailpoints } from "../../src/system/failpoints.ts";
import type { StoreFixture } from "./store-fixture.ts";

const GRANTED = { granted: true };
const alive = () => true;

function owner(id: string): Owner {
  return { id, host: "host", bootId: "boot", pid: 1, startTime: "2", command: `command of ${id}` };
}

/** Pairs of keys, and whether the claims of two owners on them exclude each other. */
const EXCLUDING: readonly (readonly [string, string, boolean])[] = [
  ["plan:P", "plan:P", true],
  ["plan:P", "plan:Q", false],
  ["plan:/a", "plan:/a/b", false],
  ["path:/a/b", "path:/a/b", true],
  ["path:/a/b", "path:/a/b/c/d", true],
  ["path:/a/b", "path:/a/bc", false],
  ["path:/a/b", "path:/a/c", false],
  ["path:/a/b/c", "path:/x/b/c", false],
  ["path:/", "path:/a", true],
  ["path:/a", "path:/a/", true],
  ["path:/a", "plan:/a", false],
  ["shared:path:/a", "shared:path:/a", false],
  ["shared:path:/a", "shared:path:/a/b", false],
  ["shared:path:/a", "path:/a/b", true],
  ["shared:path:/a/b", "path:/a", true],
  ["shared:path:/a", "path:/b", false],
  ["shared:location:x", "location:x", true],
  ["path:/a\udcff", "path:/a\udcff/b", true],
  ["path:/a\udcff", "path:/a\udcfe/b", false],
];

/** What every store does with claims. */
export function describeClaims(fixture: StoreFixture): void {
  describe(`claims of the store in ${fixture.name}`, () => {
    let store: Store;

    beforeEach(async () => {
      store = await fixture.openEmpty();
    });

    afterEach(() => {
      armFailpoints(undefined);
      store.close();
    });

    it("[A14, M1] excludes as claimsExclude says, in both orders", async () => {
      for (const [one, other, excluded] of EXCLUDING) {
        for (const [first, second] of [
          [one, other],
          [other, one],
        ] as const) {
          await store.claim([first], owner("one"), alive);
          const { granted } = await store.claim([second], owner("two"), alive);
          assert.equal(granted, !excluded, `${first} and ${second}`);
          await store.release([first], owner("one"));
          await store.release([second], owner("two"));
        }
      }
    });

    it("[A14] refuses a key that another living owner has, and names the key and the owner", async () => {
      assert.deepEqual(await store.claim(["plan:P", "path:/a/b"], owner("one"), alive), GRANTED);
      const refusal = { granted: false, key: "path:/a", holder: owner("one") };
      assert.deepEqual(await store.claim(["plan:Q", "path:/a"], owner("two"), alive), refusal);
      assert.deepEqual(await store.claim(["plan:P"], owner("two"), alive), { ...refusal, key: "plan:P" });
    });

    it("[A14] grants what does not overlap to others meanwhile", async () => {
      assert.deepEqual(await store.claim(["plan:P", "path:/a/b"], owner("one"), alive), GRANTED);
      assert.deepEqual(await store.claim(["plan:Q", "path:/a/bc", "path:/c"], owner("two"), alive), GRANTED);
    });

    it("[A14] grants a shared key to many, and to one alone only when the last of them is gone", async () => {
      for (const id of ["one", "two"])
        assert.deepEqual(await store.claim(["shared:path:/a"], owner(id), alive), GRANTED);
      const claim = () => store.claim(["path:/a/b"], owner("three"), alive);
      assert.equal((await claim()).granted, false);
      await store.release(["shared:path:/a"], owner("one"));
      assert.deepEqual(await claim(), { granted: false, key: "path:/a/b", holder: owner("two") });
      await store.release(["shared:path:/a"], owner("two"));
      assert.deepEqual(await claim(), GRANTED);
      assert.equal((await store.claim(["shared:path:/a"], owner("one"), alive)).granted, false);
    });

    it("claims every key or none", async () => {
      await store.claim(["path:/taken"], owner("one"), alive);
      const result = await store.claim(["path:/free", "path:/taken/below"], owner("two"), alive);
      assert.equal(result.granted, false);
      assert.deepEqual(await store.claim(["path:/free"], owner("three"), alive), GRANTED);
    });

    it("grants an owner again what it has, and what overlaps with that", async () => {
      assert.deepEqual(await store.claim(["path:/a", "plan:P"], owner("one"), alive), GRANTED);
      assert.deepEqual(await store.claim(["path:/a", "path:/a/b", "path:/a"], owner("one"), alive), GRANTED);
      assert.deepEqual(await store.claim([], owner("one"), alive), GRANTED);
    });

    it("frees only what the owner releases of its own", async () => {
      await store.claim(["path:/a", "path:/b"], owner("one"), alive);
      await store.release(["path:/a", "path:/b", "path:/never"], owner("two"));
      assert.equal((await store.claim(["path:/a"], owner("two"), alive)).granted, false);
      await store.release(["path:/a"], owner("one"));
      assert.deepEqual(await store.claim(["path:/a"], owner("two"), alive), GRANTED);
      assert.equal((await store.claim(["path:/b"], owner("two"), alive)).granted, false);
    });

    it("drops the claims of dead owners, also those that nobody asks for, and asks about each owner once", async () => {
      await store.claim(["path:/a", "path:/elsewhere"], owner("dead"), alive);
      await store.claim(["path:/b", "path:/c"], owner("living"), alive);
      const asked: string[] = [];
      const isAlive = ({ id }: Owner): boolean => {
        asked.push(id);
        return id !== "dead";
      };
      assert.deepEqual(await store.claim(["path:/a"], owner("heir"), isAlive), GRANTED);
      assert.deepEqual(asked.sort(), ["dead", "living"]);
      assert.deepEqual(await store.claim(["path:/elsewhere"], owner("third"), alive), GRANTED);
      assert.equal((await store.claim(["path:/b"], owner("third"), alive)).granted, false);
    });

    it("changes nothing when it cannot be known whether a holder lives", async () => {
      await store.claim(["path:/a"], owner("one"), alive);
      const unknown = () => {
        throw new Error("no /proc here");
      };
      await assert.rejects(store.claim(["path:/free"], owner("two"), unknown), /no \/proc here/);
      assert.deepEqual(await store.claim(["path:/free"], owner("three"), alive), GRANTED);
      assert.equal((await store.claim(["path:/a"], owner("three"), alive)).granted, false);
    });

    it("tells keys apart that differ only in bytes that are no text", async () => {
      assert.deepEqual(await store.claim(["path:/x\udcff"], owner("one"), alive), GRANTED);
      assert.deepEqual(await store.claim(["path:/x\udcfe"], owner("two"), alive), GRANTED);
      assert.equal((await store.claim(["path:/x\udcff/y"], owner("two"), alive)).granted, false);
      await store.release(["path:/x\udcff"], owner("one"));
      assert.deepEqual(await store.claim(["path:/x\udcff/y"], owner("two"), alive), GRANTED);
    });

    it("claims and releases nothing when it fails before", async () => {
      await store.claim(["path:/a"], owner("one"), alive);
      armFailpoints("store.claim=error,store.release=error");
      await assert.rejects(store.claim(["path:/b"], owner("one"), alive), { code: "EIO" });
      await assert.rejects(store.release(["path:/a"], owner("one")), { code: "EIO" });
      armFailpoints(undefined);
      assert.equal((await store.claim(["path:/a"], owner("two"), alive)).granted, false);
      assert.deepEqual(await store.claim(["path:/b"], owner("two"), alive), GRANTED);
    });
  });
}
