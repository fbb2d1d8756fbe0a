import assert from "node:assert/strict";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Workplace } from "./workplace.ts";

/** A folder with links that stay in it, lead out of it, or lead nowhere. */
function withLinks(strategy: string): Workplace {
  const place = new Workplace();
  place.write("app/d/f", "inside\n");
  place.write("outside/secret", "secret\n");
  const links = {
    inner: "d/f",
    folder: "d",
    "d/up": "../d/f",
    out: join(place.path, "outside/secret"),
    above: "../outside",
    own: join(place.path, "app/d/f"),
    circle: "circle",
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(place.path, "app", name));
  place.done("plan", "create", "-r", `app=app,strategy=${strategy}`, "--name", "p");
  return place;
}

describe("links in a resource", () => {
  for (const strategy of ["filesystem_copy", "overlay"]) {
    it(`[W8] are followed to read where they stay inside, and never else, with ${strategy}`, () => {
      using place = withLinks(strategy);
      for (const path of ["inner", "folder/f", "d/up", "folder/up"])
        assert.equal(place.done("plan", "read", "p", "app", path), "inside\n");
      for (const path of ["out", "above/secret", "own", "circle"]) {
        const { status, stderr } = place.drydock(["plan", "read", "p", "app", path]);
        assert.equal(status, 2);
        assert.match(stderr, /leads out of the resource by a link, or in a circle/);
      }
      assert.match(place.drydock(["plan", "read", "p", "app", "d/nothing"]).stderr, /There is no file/);
    });

    it(`[W8] are never followed to write, list or remove, with ${strategy}`, () => {
      using place = withLinks(strategy);
      for (const path of ["inner", "out", "own", "above/new"])
        assert.equal(place.drydock(["plan", "write", "p", "app", path], { input: "x" }).status, 2, path);
      assert.equal(place.drydock(["plan", "ls", "p", "app", "above"]).status, 2);
      place.done("plan", "rm", "p", "app", "out");
      place.done("plan", "apply", "p");
      assert.equal(readFileSync(join(place.path, "outside/secret"), "utf8"), "secret\n");
      assert.equal(place.read("app/d/f"), "inside\n");
    });
  }

  it("[W8] that lead out are named, because a program at the path of the sandbox follows them", () => {
    using place = withLinks("filesystem_copy");
    const [{ linksOut }] = place.answer("plan", "show", "p").resources;
    assert.deepEqual(linksOut.map(({ path }: { path: string }) => path).toSorted(), ["above", "out", "own"]);
    assert.match(place.done("plan", "show", "p"), /leads out +above -> \.\.\/outside \(a program/);
    assert.equal(place.answer("plan", "list").plans[0].resources[0].linksOut, undefined);
  });
});
