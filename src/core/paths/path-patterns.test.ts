import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PathPatterns } from "./path-patterns.ts";

/** What of these a pattern means. */
function meant(glob: string, ...paths: readonly string[]): string[] {
  const patterns = new PathPatterns([glob]);
  return paths.filter((path) => patterns.has(path));
}

describe("patterns of paths", () => {
  const paths = ["src", "src/app.ts", "src/deep/app.ts", "src/deep/app.tsx", "srcs", "app.ts", "."];

  it("mean a path with all that is below it", () => {
    assert.deepEqual(meant("src", ...paths), ["src", "src/app.ts", "src/deep/app.ts", "src/deep/app.tsx"]);
    assert.deepEqual(meant("src/deep", ...paths), ["src/deep/app.ts", "src/deep/app.tsx"]);
  });

  it("take a star within a name, and two of them across names", () => {
    assert.deepEqual(meant("src/*.ts", ...paths), ["src/app.ts"]);
    assert.deepEqual(meant("**/*.ts", ...paths), ["src/app.ts", "src/deep/app.ts", "app.ts"]);
    assert.deepEqual(meant("src/**", ...paths), ["src/app.ts", "src/deep/app.ts", "src/deep/app.tsx"]);
    assert.deepEqual(meant("src/**/app.ts", ...paths), ["src/app.ts", "src/deep/app.ts"]);
    assert.deepEqual(meant("a**.ts", "app.ts", "a/b.ts"), ["app.ts"]);
  });

  it("take a question mark for one character, also one that is no UTF-8 or beyond the first plane", () => {
    assert.deepEqual(meant("a?c", "abc", "a/c", "ac", "a\udcffc", "a🙂c"), ["abc", "a\udcffc", "a🙂c"]);
  });

  it("take everything else as it is, line breaks too", () => {
    assert.deepEqual(meant("a.(b)[c]{1}|$", "a.(b)[c]{1}|$", "aX(b)c"), ["a.(b)[c]{1}|$"]);
    assert.deepEqual(meant("a*c", "a\nc", "a\n/c"), ["a\nc"]);
  });

  it("mean everything by the root", () => {
    assert.deepEqual(meant(".", ...paths), paths);
  });
});
