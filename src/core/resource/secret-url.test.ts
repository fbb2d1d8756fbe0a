import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hideSecret, splitSecret, withoutSecret } from "./secret-url.ts";

describe("splitSecret", () => {
  for (const [url, location, secret] of [
    ["postgres://me:pass@host:5432/db?x=1", "postgres://me@host:5432/db?x=1", "pass"],
    ["postgres://me:p%40s%2Fs@host/db", "postgres://me@host/db", "p@s/s"],
    ["postgres://me:a:b@host/db", "postgres://me@host/db", "a:b"],
    ["postgres://me:100%@host/db", "postgres://me@host/db", "100%"],
    ["postgres://me:pass@/db?host=/run/pg", "postgres://me@/db?host=/run/pg", "pass"],
    ["mysql://me@host/db?password=p%26w&ssl-mode=REQUIRED", "mysql://me@host/db?ssl-mode=REQUIRED", "p&w"],
    ["mysql://me:pass@[::1]:3306/db", "mysql://me@[::1]:3306/db", "pass"],
    ["postgres://me@host/db", "postgres://me@host/db", undefined],
    ["postgres://me:@host/db", "postgres://me@host/db", undefined],
    ["/a/path:with@signs", "/a/path:with@signs", undefined],
  ] as const)
    it(`takes the password out of ${url}`, () => {
      const split = splitSecret(url);
      assert.equal(split.location, location);
      assert.equal(split.secret, secret);
    });

  for (const url of [
    "postgres://me:pa/ss@host/db",
    "postgres://me:pa?ss@host/db",
    "mysql://me:pa#ss@host/db",
  ])
    it("refuses a password that was cut short by a character of its own, without showing it", () => {
      assert.throws(
        () => splitSecret(url),
        (error: Error & { code: string }) => error.code === "BAD_URL" && !/pa|ss@/.test(error.message),
      );
    });
});

describe("withoutSecret", () => {
  it("hides the password of a URL anywhere in a text, cut short or not", () => {
    assert.equal(withoutSecret("db=postgres://me:pa/ss@host/db,type="), "db=postgres://me@host/db,type=");
    assert.equal(withoutSecret("mysql://me@host/db?password=x"), "mysql://me@host/db?password=…");
    assert.equal(withoutSecret("/just/a:path@here"), "/just/a:path@here");
  });
});

describe("hideSecret", () => {
  it("makes a password unreadable in both its forms", () => {
    assert.equal(hideSecret("a p/w and p%2Fw", "p/w"), "a *** and ***");
    assert.equal(hideSecret("nothing", undefined), "nothing");
  });
});
