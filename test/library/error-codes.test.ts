import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ERROR_CODES } from "../../src/index.ts";

const root = join(import.meta.dirname, "../..");

/** The rows of the table of codes in docs/library.md. */
function documented(): string[] {
  const page = readFileSync(join(root, "docs/library.md"), "utf8");
  const table = page.slice(page.indexOf("| code | meaning |"));
  return [...table.matchAll(/^\| `([A-Z_]+)` \| \S.* \|$/gm)].map(([, code = ""]) => code);
}

describe("The codes of errors", () => {
  it("are all in docs/library.md, each once, with what it means", () => {
    assert.deepEqual(documented().toSorted(), [...ERROR_CODES].toSorted());
    assert.equal(new Set(ERROR_CODES).size, ERROR_CODES.length);
  });

  it("are all used somewhere", () => {
    const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && name !== "core/error-codes.ts")
      .map((name) => readFileSync(join(root, "src", name), "utf8"))
      .join("\n");
    assert.deepEqual(
      ERROR_CODES.filter((code) => !sources.includes(`"${code}"`)),
      [],
    );
  });
});
