import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { statsOf } from "../../../core/change.ts";
import type { PlanChange, PlanDiff } from "../../../plans/plan-views.ts";
import { ChangeSummary } from "../../../plans/review/change-summary.ts";
import { ANSI_STYLES, NO_STYLES } from "../styles.ts";
import { ChangeList, ChangeNames, ChangeStat, linesOf, patchNotes, writtenLines } from "./diff-lines.ts";
import { terminalPatch } from "./patch-line.ts";
import { SummaryLines } from "./summary-lines.ts";

const before = { size: 10, mode: 0o644, uid: 0, gid: 0, mtime: "2025-01-01T00:00:00.000000000Z" };
const resource = "app";

function diffOf(...changes: readonly PlanChange[]): PlanDiff {
  return { planId: "01", digest: "d1", stats: statsOf(changes), changes, renames: [], selfRunning: [] };
}

const diffLines = (diff: PlanDiff, styles = NO_STYLES) => [...linesOf(diff, new ChangeList(styles))];
const statLines = (diff: PlanDiff) => [...linesOf(diff, new ChangeStat(NO_STYLES))];
const listOf = (...changes: readonly PlanChange[]) => diffLines(diffOf(...changes));
const onlyLine = (change: PlanChange) => listOf(change)[0];
const modified = (after: PlanChange["after"], rest: Partial<PlanChange> = {}): PlanChange => ({
  ...{ resource, path: "x", operation: "modified", kind: "file", before, ...rest },
  after: { ...before, ...after },
});

describe("a diff for people", () => {
  const changes: readonly PlanChange[] = [
    {
      resource,
      path: "new.txt",
      operation: "added",
      kind: "file",
      after: before,
      insertions: 3,
      deletions: 0,
    },
    modified({ size: 12 }, { path: "src/a-longer-name.ts", insertions: 1, deletions: 2 }),
    { resource, path: "old", operation: "deleted", kind: "directory", before },
    { resource, path: "x", operation: "typechanged", kind: "symlink", before, after: { target: "new.txt" } },
  ];

  it("[D1] is a line for each change, with a letter, what changed, a summary and the digest", () => {
    assert.deepEqual(listOf(...changes), [
      "A  app/new.txt               +3",
      "M  app/src/a-longer-name.ts  +1 -2",
      "D  app/old                   directory",
      "T  app/x                     symlink, to new.txt",
      "1 added, 2 modified, 1 deleted; 4 insertions(+), 2 deletions(-)",
      "digest d1",
    ]);
    assert.deepEqual(listOf(), ["No changes."]);
  });

  it("[X9] names what tools run by themselves apart, in every form but the names alone", () => {
    const path = ".git/hooks/pre-commit";
    const rest = { tool: "git", why: "runs its hooks", operation: "added" } as const;
    const change: PlanChange = {
      resource,
      path,
      operation: "added",
      kind: "file",
      insertions: 1,
      warnings: ["careful"],
    };
    const diff: PlanDiff = {
      ...diffOf(change),
      selfRunning: [
        { resource, path, ...rest, needsWord: true },
        { resource, path: ".envrc", ...rest, needsWord: false },
      ],
    };
    const apart = [
      "Tools run these by themselves; they land only with your word (--allow):",
      "  app/.git/hooks/pre-commit  git",
      "Tools run these by themselves; deleted, or allowed:",
      "  app/.envrc  git",
    ];
    assert.deepEqual(diffLines(diff).slice(2, 6), apart);
    assert.deepEqual(statLines(diff).slice(2, 6), apart);
    assert.deepEqual(
      [...patchNotes(diff, NO_STYLES)],
      ["warning: app/.git/hooks/pre-commit: careful", ...apart],
    );
  });

  it("[D3] [D4] says what it is that changed", () => {
    assert.equal(onlyLine(modified({ mode: 0o755 })), "M  app/x  mode 644 → 755");
    assert.equal(onlyLine(modified({ uid: 7 })), "M  app/x  owner 0:0 → 7:0");
    assert.equal(onlyLine(modified({ mtime: "2025-01-02T00:00:00.000000000Z" })), "M  app/x  time");
    assert.equal(onlyLine(modified({ digest: "d2" })), "M  app/x  content");
    assert.equal(onlyLine(modified({})), "M  app/x  metadata");
    assert.equal(onlyLine(modified({}, { kind: "directory" })), "M  app/x  directory, metadata");
    assert.equal(onlyLine(modified({ xattrs: "d3" })), "M  app/x  attributes");
    assert.equal(onlyLine(modified({ digest: "d2", xattrs: "d3" })), "M  app/x  content, attributes");
    assert.equal(onlyLine(modified({ xattrs: "d3" }, { insertions: 1 })), "M  app/x  +1, attributes");
    assert.equal(onlyLine(modified({ size: 12 }, { binary: true })), "M  app/x  binary, 10 → 12 bytes");
    assert.equal(onlyLine(modified({}, { binary: true })), "M  app/x  binary, 10 bytes");
    assert.equal(onlyLine(modified({ size: 12 })), "M  app/x  10 → 12 bytes");
    const empty = { resource, path: "x", operation: "added", kind: "file", after: { size: 0 } } as const;
    assert.equal(onlyLine(empty), "A  app/x  0 bytes");
    const link = { kind: "symlink", before: { target: "a\n" }, after: { target: "b" } } as const;
    assert.equal(
      onlyLine({ resource, path: "x", operation: "modified", ...link }),
      "M  app/x  symlink, to a\\n → b",
    );
    const gone = {
      resource,
      path: "x",
      operation: "deleted",
      kind: "symlink",
      before: { target: "a" },
    } as const;
    assert.equal(onlyLine(gone), "D  app/x  symlink, was to a");
    const owned = modified({}, { before: { uid: 1 }, operation: "typechanged" });
    assert.equal(onlyLine(owned), "T  app/x  10 bytes, owner 1:? → 0:0");
  });

  it("says no more of what was just written than is known", () => {
    const lineOf = (change: PlanChange) => [...writtenLines(change, NO_STYLES)].join();
    assert.equal(lineOf(modified({ mtime: "2025-01-02T00:00:00.000000000Z" })), "M  app/x  10 bytes");
    assert.equal(lineOf(modified({ size: 12 })), "M  app/x  10 → 12 bytes");
    assert.equal(
      lineOf({ resource, path: "x.sql", operation: "modified", kind: "object" }),
      "M  app/x.sql  object",
    );
    assert.equal(lineOf({ resource, path: "x", operation: "modified", kind: "file" }), "M  app/x");
  });

  it("[A12] has each warning below its change", () => {
    const [, warning] = listOf(modified({ mode: 0o4755 }, { warnings: ["the setuid bit does not land"] }));
    assert.equal(warning, "   warning: the setuid bit does not land");
  });

  it("shows the root as the resource, and what a terminal must not get escaped", () => {
    assert.equal(onlyLine(modified({ mode: 0o600 }, { path: "." })), "M  app  mode 644 → 600");
    assert.equal(
      onlyLine({ resource, path: "a\n\u001b\udcff", operation: "added", kind: "fifo" }),
      "A  app/a\\n\\u001b\\xff  fifo",
    );
    assert.deepEqual(
      [...linesOf(diffOf(modified({}, { path: "a\tb" }), modified({}, { path: "." })), new ChangeNames())],
      ["app/a\\tb", "app"],
    );
  });

  it("does not let one long path push everything to the right", () => {
    const long = modified({ mode: 0o600 }, { path: "a".repeat(100) });
    const [, short] = listOf(long, modified({ mode: 0o600 }));
    assert.equal(short?.indexOf("mode"), 65);
  });

  it("has a histogram with --stat", () => {
    const many = modified({}, { path: "big", insertions: 80, deletions: 20 });
    const binary = modified({ size: 12 }, { path: "bin", binary: true });
    assert.deepEqual(statLines(diffOf(...changes, many, binary)), [
      " app/new.txt              |   3 ++",
      " app/src/a-longer-name.ts |   3 +-",
      " app/old                  | deleted, directory",
      " app/x                    | typechanged, symlink, to new.txt",
      ` app/big                  | 100 ${"+".repeat(32)}--------`,
      " app/bin                  | binary, 10 → 12 bytes",
      "1 added, 4 modified, 1 deleted; 84 insertions(+), 22 deletions(-)",
    ]);
  });

  it("is coloured where that is wanted", () => {
    const [added, changed, deleted] = diffLines(diffOf(...changes), ANSI_STYLES);
    assert.match(added ?? "", /^\u001b\[32mA\u001b\[39m {2}/);
    assert.match(changed ?? "", /^\u001b\[33mM/);
    assert.match(deleted ?? "", /^\u001b\[31mD/);
    const red = (text: string) => `\u001b[31m${text}\u001b[39m`;
    const green = (text: string) => `\u001b[32m${text}\u001b[39m`;
    const patch = ["--- a/x", "@@ -1,2 +1,2 @@", "--- old", "+++ new", " same", "rename from x", ""];
    assert.deepEqual(terminalPatch(patch.join("\n"), ANSI_STYLES).split("\n"), [
      "\u001b[1m--- a/x\u001b[22m",
      "\u001b[36m@@ -1,2 +1,2 @@\u001b[39m",
      red("--- old"),
      green("+++ new"),
      " same",
      "\u001b[1mrename from x\u001b[22m",
      "",
    ]);
  });

  it("marks the words of a patch by which a line differs from the one that it replaces", () => {
    const shown = (...lines: readonly string[]) =>
      terminalPatch(["@@ -1,2 +1,2 @@", ...lines].join("\n"), {
        ...NO_STYLES,
        reversed: (text) => (text === "" ? "" : `[${text}]`),
      })
        .split("\n")
        .slice(1);
    assert.deepEqual(
      shown("-const tax = price * 0.19;", "-call(a, b)", "+const tax = price * 0.07;", "+call(a, b, c)"),
      ["-const tax = price * 0.[19];", "-call(a, b)", "+const tax = price * 0.[07];", "+call(a, b[, c])"],
    );
    const others = ["-one line here", "+something else", " context", "-gone"];
    assert.deepEqual(shown(...others), others);
  });

  it("[D1] sums up any number of changes by folders with --summary, the largest first", () => {
    const added = (path: string, kind: PlanChange["kind"] = "file"): PlanChange => {
      return { resource, path, operation: "added", kind, insertions: 1, deletions: 0 };
    };
    const many = [
      ...changes,
      added("lib", "directory"),
      added("lib/deep", "directory"),
      ...Array.from({ length: 300 }, (_, at) => added(`lib/deep/${at}`)),
      ...Array.from({ length: 90 }, (_, at) => added(`d${at % 45}/${at}`)),
      { ...added("src/warned"), warnings: ["careful"] },
    ];
    const lines = [...linesOf(diffOf(...many), new SummaryLines(NO_STYLES))];
    assert.deepEqual(
      [...lines.slice(0, 4), lines.at(-3)],
      [
        "FOLDER        ADDED  MODIFIED  DELETED  LINES    KINDS",
        "app           394    2         1        +397 -2  393 files, 3 directories, 1 symlink, 1 warning, 17 folders in it not listed",
        "app/src       1      1                  +2 -2    2 files, 1 warning",
        "app/lib/deep  300                       +300     300 files",
        "app/d27       2                         +2       2 files",
      ],
    );
    assert.equal(lines.length, 1 + 1 + 30 + 2);
    const summary = new ChangeSummary();
    for (const change of many) summary.add(change);
    assert.deepEqual(summary.folders(1), [
      {
        ...{ resource, path: ".", added: 394, modified: 2, deleted: 1, insertions: 397, deletions: 2 },
        ...{ kinds: { file: 393, directory: 3, symlink: 1 }, warnings: 1, unlisted: 46 },
      },
      {
        ...{ resource, path: "lib/deep", added: 300, modified: 0, deleted: 0 },
        ...{ insertions: 300, deletions: 0, kinds: { file: 300 } },
      },
    ]);
    assert.deepEqual([...linesOf(diffOf(), new SummaryLines(NO_STYLES))], ["No changes."]);
  });
});
