import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { projectRoot } from "./project-copy.ts";

const IDS = /\[[A-Z]\d+(?:, [A-Z]\d+)*\]/g;
/** A title begins with its ids: `"[A3][A7] a crash …"`. */
const TITLE = /["'`]((?:\[[A-Z]\d+(?:, [A-Z]\d+)*\] ?)+)/g;
/** The beginning of a test that the normal form leaves out. */
const ONLY_LONG = /itInLongForm\(\s*["'`]/g;

/** The ids that the page defines, in its order. */
function promised(): string[] {
  const page = readFileSync(join(projectRoot, "docs/promises.md"), "utf8");
  return [...page.matchAll(/^- [*]{2}([A-Z]\d+)[*]{2} /gm)].map(([, id = ""]) => id);
}

/** The ids in titles of the tests of one form, each with the files that have it. */
function tested(form: "normal" | "long"): Map<string, Set<string>> {
  const ids = new Map<string, Set<string>>();
  for (const file of globSync(["src/**/*.ts", "test/**/*.ts"], { cwd: projectRoot })) {
    const text = readFileSync(join(projectRoot, file), "utf8");
    const titles = (form === "normal" ? text.replace(ONLY_LONG, "") : text).matchAll(TITLE);
    for (const id of [...titles].flatMap(([, group = ""]) => group.match(IDS) ?? []).flatMap(inBrackets))
      ids.set(id, (ids.get(id) ?? new Set()).add(file));
  }
  return ids;
}

function inBrackets(group: string): string[] {
  return group.slice(1, -1).split(", ");
}

describe("the promises", () => {
  it("each have an id of their own, and there are many", () => {
    assert.ok(promised().length > 50);
    assert.deepEqual(promised(), [...new Set(promised())]);
  });

  it("each have a test with their id in its title, in the normal form", () => {
    const ids = tested("normal");
    assert.deepEqual(
      promised().filter((id) => !ids.has(id)),
      [],
    );
  });

  it("are where a test's id leads to", () => {
    const known = new Set(promised());
    const unknown = [...tested("long")]
      .filter(([id]) => !known.has(id))
      .map(([id, files]) => `${id}: ${[...files].join(", ")}`);
    assert.deepEqual(unknown, []);
  });
});
