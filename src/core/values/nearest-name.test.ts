import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { nearestName } from "./nearest-name.ts";

describe("nearestName", () => {
  const known = ["strategy", "cleanup", "allow_setid", "allow_devices", "keep"];

  it("finds a name with a letter missing, added, wrong or swapped", () => {
    assert.equal(nearestName("stratgy", known), "strategy");
    assert.equal(nearestName("cleanups", known), "cleanup");
    assert.equal(nearestName("kepe", known), "keep");
    assert.equal(nearestName("kerp", known), "keep");
  });

  it("does not mind case or dashes", () => {
    assert.equal(nearestName("Allow-SetID", known), "allow_setid");
    assert.equal(nearestName("allowDevices", known), "allow_devices");
  });

  it("completes a name that only one begins with", () => {
    assert.equal(nearestName("strat", known), "strategy");
    assert.equal(nearestName("allow", known), undefined);
    assert.equal(nearestName("st", known), undefined);
  });

  it("takes the nearest of several, and none that is far", () => {
    assert.equal(nearestName("allow_device", known), "allow_devices");
    assert.equal(nearestName("colour", known), undefined);
    assert.equal(nearestName("x", known), undefined);
    assert.equal(nearestName("x", []), undefined);
  });
});
