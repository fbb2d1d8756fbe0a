import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UsageError } from "../../core/errors/errors.ts";
import { parseResourceOption } from "./resource-option.ts";

const existing = new Set(["a=b", "a,type=b", "dir/a=b,c=d", "caf\udce9"]);
const parse = (value: string) => parseResourceOption(value, (path) => existing.has(path));

function assertRefused(value: string, why: RegExp): void {
  assert.throws(
    () => parse(value),
    (thrown: unknown) => {
      assert.ok(thrown instanceof UsageError);
      assert.match(thrown.message, why);
      assert.match(thrown.hint, /^Write it as \[NAME=\]LOCATION/);
      return true;
    },
  );
}

describe("the value of --resource", () => {
  it("is a location, with or without a name, a type and a strategy", () => {
    assert.deepEqual(parse("."), { location: "." });
    assert.deepEqual(parse("app=./src"), { name: "app", location: "./src" });
    assert.deepEqual(parse("./src,type=fs-directory"), { location: "./src", type: "fs-directory" });
    const whole = { name: "app", location: "/srv/app", type: "fs-directory", strategy: "filesystem_copy" };
    assert.deepEqual(parse("app=/srv/app,type=fs-directory,strategy=filesystem_copy"), whole);
    assert.deepEqual(parse("app=/srv/app,strategy=filesystem_copy,type=fs-directory"), whole);
    const own = { location: "app", strategy: "../my own.mjs:Mine", type: "x" };
    assert.deepEqual(parse("app,type=x,strategy=../my own.mjs:Mine"), own);
    assert.deepEqual(parse("app,from=checkout"), { location: "app", from: "checkout" });
  });

  it("keeps a URL as it is", () => {
    const url = "postgres://user@host/db?sslmode=off,x=y";
    assert.deepEqual(parse(url), { location: url });
    assert.deepEqual(parse(`data=${url}`), { name: "data", location: url });
  });

  it("reads = and , as part of the location where they can't be anything else", () => {
    assert.deepEqual(parse("a=b"), { location: "a=b" });
    assert.deepEqual(parse("x=a=b"), { name: "x", location: "a=b" });
    assert.deepEqual(parse("dir/a=b,c=d"), { location: "dir/a=b,c=d" });
    assert.deepEqual(parse("a,b"), { location: "a,b" });
    assert.deepEqual(parse("a,type=b,type=fs-file"), { location: "a,type=b", type: "fs-file" });
    assert.deepEqual(parse("a,type=b/"), { location: "a,type=b/" });
  });

  it("takes a byte that is not UTF-8 as JSON shows it", () => {
    assert.deepEqual(parse("caf\\udce9"), { location: "caf\udce9" });
  });

  it("[X5] is refused with the reason where it makes no sense", () => {
    assertRefused("", /has an empty location\.$/);
    assertRefused("app=", /has an empty location\.$/);
    assertRefused(",type=fs-file", /has an empty location\.$/);
    assertRefused("app,type=", /has an empty type\.$/);
    assertRefused("app,strategy=", /has an empty strategy\.$/);
    assertRefused(
      "app,stratgy=overlay",
      /has 'stratgy', which is no option of a resource, and there is nothing/,
    );
    assertRefused("app,type=fs-file,type=fs-directory", /has 'type' more than once/);
    assertRefused("a\nb,colour=red", /^The resource 'a\\nb,colour=red' has 'colour'/);
  });
});
