import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PlanChange } from "../plan-views.ts";
import { RenameFinder } from "./rename-finder.ts";
import { RenameIndex, renamedEntries } from "./rename-index.ts";

const resource = "app";
type Facts = PlanChange["after"];

function file(operation: "added" | "deleted", path: string, digest: string, more: Facts = {}): PlanChange {
  const facts = { size: 5, mode: 0o644, uid: 0, gid: 0, digest, ...more };
  const side = operation === "added" ? { after: facts } : { before: facts };
  return { resource, path, operation, kind: "file", ...side };
}

function folder(operation: "added" | "deleted", path: string): PlanChange {
  const facts = { mode: 0o755, uid: 0, gid: 0 };
  const side = operation === "added" ? { after: facts } : { before: facts };
  return { resource, path, operation, kind: "directory", ...side };
}

/** What is found, as lines. */
function found(...changes: readonly PlanChange[]): readonly string[] {
  const finder = new RenameFinder();
  for (const change of changes) finder.add(change);
  return finder
    .find()
    .map(({ from, to, entries }) => `${from} → ${to}${entries === undefined ? "" : ` (${entries})`}`);
}

/** A folder with these files, each with a content of its own unless it says another. */
function tree(operation: "added" | "deleted", root: string, contents: { readonly [name: string]: string }) {
  const folders = new Set(
    Object.keys(contents).flatMap((name) => (name.includes("/") ? [name.split("/")[0]] : [])),
  );
  return [
    folder(operation, root),
    ...[...folders].map((name) => folder(operation, `${root}/${name}`)),
    ...Object.entries(contents).map(([name, digest]) => file(operation, `${root}/${name}`, digest)),
  ];
}

describe("Renames among the changes of a plan", () => {
  it("[V8] are files that go and come with the same content, mode and owner", () => {
    assert.deepEqual(found(file("deleted", "a", "1"), file("added", "d/b", "1")), ["a → d/b"]);
    assert.deepEqual(found(file("deleted", "a", "1"), file("added", "b", "2")), []);
    assert.deepEqual(found(file("deleted", "a", "1"), file("added", "b", "1", { mode: 0o755 })), []);
    assert.deepEqual(found(file("deleted", "a", "1"), file("added", "b", "1", { uid: 7 })), []);
    const other = { ...file("added", "b", "1"), resource: "other" };
    assert.deepEqual(found(file("deleted", "a", "1"), other), []);
  });

  it("[V8] are folders in which everything is the same, each once", () => {
    const contents = { a: "1", b: "2", "deep/c": "3" };
    assert.deepEqual(found(...tree("added", "lib", contents), ...tree("deleted", "src", contents)), [
      "src → lib (4)",
    ]);
    const moved = [...tree("added", "new/src", contents), folder("added", "new")];
    assert.deepEqual(found(...moved, ...tree("deleted", "src", contents)), ["src → new/src (4)"]);
  });

  it("[V8] are the files and folders in a folder that is not the same as a whole", () => {
    const before = tree("deleted", "src", { a: "1", b: "2", "deep/c": "3" });
    const edited = tree("added", "lib", { a: "1", b: "changed", "deep/c": "3" });
    assert.deepEqual(found(...edited, ...before), ["src/a → lib/a", "src/deep → lib/deep (1)"]);
    const more = tree("added", "lib", { a: "1", b: "2", "deep/c": "3", "deep/d": "4" });
    assert.deepEqual(found(...more, ...before), [
      "src/a → lib/a",
      "src/b → lib/b",
      "src/deep/c → lib/deep/c",
    ]);
  });

  it("pair files of one content by their names, and empty files only so", () => {
    const gone = ["x/one", "x/two", "y/two"].map((path) => file("deleted", path, "1"));
    assert.deepEqual(found(...gone, file("added", "z/two", "1"), file("added", "z/y/two", "1")), [
      "x/two → z/two",
      "y/two → z/y/two",
    ]);
    const empty = { size: 0 };
    assert.deepEqual(found(file("deleted", "a", "0", empty), file("added", "b", "0", empty)), []);
    assert.deepEqual(found(file("deleted", "a", "0", empty), file("added", "d/a", "0", empty)), ["a → d/a"]);
  });

  it("are not looked for in a resource with more than 100,000 added or deleted entries, but in another", () => {
    const finder = new RenameFinder();
    const many = Array.from({ length: 100_000 }, (_, at) => file("added", `many/${at}`, String(at)));
    for (const change of [...many, file("deleted", "old", "7")]) finder.add(change);
    assert.deepEqual(
      finder.find().map(({ from, to }) => `${from} → ${to}`),
      ["old → many/7"],
    );
    for (const change of [file("added", "one-more", "x"), file("deleted", "later", "8")]) finder.add(change);
    for (const change of [file("added", "b", "1"), file("deleted", "a", "1")])
      finder.add({ ...change, resource: "other" });
    assert.deepEqual(
      finder.find().map(({ resource: name, from, to }) => `${name}: ${from} → ${to}`),
      ["other: a → b"],
    );
  });

  it("leave an entry with a warning as it is", () => {
    const warned = { ...file("added", "b", "1"), warnings: ["runs by itself"] };
    assert.deepEqual(found(file("deleted", "a", "1"), warned), []);
    const inside = tree("added", "lib", { a: "1", b: "2" }).map((change) =>
      change.path === "lib/b" ? { ...change, warnings: ["runs by itself"] } : change,
    );
    assert.deepEqual(found(...inside, ...tree("deleted", "src", { a: "1", b: "2" })), ["src/a → lib/a"]);
  });

  it("are found again by any path in them", () => {
    const finder = new RenameFinder();
    for (const side of ["added", "deleted"] as const)
      for (const change of tree(side, side === "added" ? "lib" : "src", { a: "1" })) finder.add(change);
    const renames = finder.find();
    const index = new RenameIndex(renames);
    assert.equal(renamedEntries(renames), 2);
    const at = (operation: PlanChange["operation"], path: string) =>
      index.of({ resource, path, operation })?.to;
    assert.equal(at("added", "lib/a"), "lib");
    assert.equal(at("deleted", "src"), "lib");
    for (const path of ["library", "other/lib"]) assert.equal(at("added", path), undefined);
    assert.equal(at("modified", "lib/a"), undefined);
  });
});
