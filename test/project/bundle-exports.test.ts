import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { buildSync } from "esbuild";
import { exportValues } from "../../scripts/bundle-exports.ts";
import { TemporaryFolder } from "./project-copy.ts";

const MODULE = `
  export class Shared {}
  export const { first, ...rest } = { first: 1, second: 2 };
  export function next() { count += 1; [later] = ["made"]; }
  export let count = 0;
  export let later;
  export default "whole";
`;

/** A module as the build makes it, before its exports are changed. */
function built(folder: TemporaryFolder, name: string, text: string): string {
  const source = folder.write(`${name}.mjs`, text);
  const outfile = join(dirname(source), `${name}.cjs`);
  buildSync({ entryPoints: [source], outfile, format: "cjs", minifyWhitespace: true, logLevel: "error" });
  return outfile;
}

describe("what the modules of the build export", () => {
  it("are values, and getters for what changes later", () => {
    using folder = new TemporaryFolder();
    const file = built(folder, "one", MODULE);
    exportValues([file]);
    const exported = createRequire(import.meta.url)(file);
    const getters = Object.entries(Object.getOwnPropertyDescriptors(exported))
      .filter(([, { get }]) => get !== undefined)
      .map(([name]) => name);
    assert.deepEqual(getters.sort(), ["count", "later"]);
    exported.next();
    const { Shared, first, rest, count, later, default: whole } = exported;
    assert.deepEqual(
      { first, rest, count, later, whole },
      {
        ...{ first: 1, rest: { second: 2 }, count: 1, later: "made", whole: "whole" },
      },
    );
    assert.equal(new Shared().constructor.name, "Shared");
  });

  it("are refused if modules need each other", () => {
    using folder = new TemporaryFolder();
    const files = [
      built(folder, "one", 'import { two } from "./two.cjs"; export const one = () => two;'),
      built(folder, "two", 'import { one } from "./one.cjs"; export const two = () => one;'),
    ];
    assert.throws(() => exportValues(files), /need each other: one\.cjs, two\.cjs, one\.cjs/);
  });
});
