import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { BUILT_IN_STRATEGY_NAMES } from "drydock-sandbox";

const root = join(import.meta.dirname, "..", "..");
const documents = globSync(["*.md", "docs/**/*.md", "test/**/*.md", "examples/*/*.md"], { cwd: root });

/** Documents for people who work on the project itself. */
const MAINTAINERS = documents.filter((path) =>
  /^(?:ARCHITECTURE|CONTRIBUTING|SECURITY)|^docs\/(?:design\/|promises)|^test\//.test(path),
);

function text(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** The first column of the table whose rows begin with a strategy's name. */
function strategiesInTable(path: string): string[] {
  return [...text(path).matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, name = ""]) => name);
}

describe("the documentation", () => {
  for (const path of ["README.md", "docs/strategies.md"]) {
    it(`[S6, S8] lists every built-in strategy in ${path}, strongest first`, () => {
      assert.deepEqual(strategiesInTable(path), [...BUILT_IN_STRATEGY_NAMES]);
    });
  }

  it("shows the two commands that work on a fresh machine", () => {
    for (const command of ["npm ci && npm run demo", "npm ci && npm test"])
      assert.ok(text("README.md").includes(command), command);
  });

  for (const path of documents) {
    it(`has no link in ${path} that leads nowhere`, () => {
      const links = [...text(path).matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)].map(
        ([, link = ""]) => link,
      );
      const broken = links.filter((link) => !existsSync(join(root, dirname(path), link)));
      assert.deepEqual(broken, []);
    });
  }

  for (const path of MAINTAINERS) {
    it(`names no file in ${path} that is not there`, () => {
      const named = [...text(path).matchAll(/`((?:src|test|scripts|bench|docs|schema)\/[^`\s*]+)`/g)].map(
        ([, name = ""]) => name,
      );
      assert.deepEqual(
        named.filter((name) => !existsSync(join(root, name))),
        [],
      );
    });
  }
});
