import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assertRefused, Workplace } from "./workplace.ts";

const files = { "README.md": "hello\n", "src/app.ts": "one\n" };

describe("checkpoints on the command line", () => {
  it("[C6][C7] are made, listed and restored, in words for people", () => {
    using place = new Workplace();
    place.folder("app", files);
    place.folder("docs", { "guide.md": "guide\n" });
    const resources = ["-r", "app,strategy=filesystem_copy", "-r", "docs,strategy=overlay"];
    const id = place.done("plan", "create", "--name", "fix", ...resources).trim();
    assert.match(place.done("plan", "checkpoints"), /^There are no checkpoints\. Make one/);
    const app = place.done("plan", "path", "fix", "app").trim();
    const docs = place.done("plan", "path", "fix", "docs").trim();
    writeFileSync(join(app, "README.md"), "saved\n");
    rmSync(join(docs, "guide.md"));
    assert.match(
      place.done("plan", "checkpoint", "--label", "good"),
      new RegExp(`^Saved checkpoint [0-9A-Z]{26} \\(good\\) of plan ${id}\\.\n$`),
    );
    writeFileSync(join(app, "README.md"), "worse\n");
    writeFileSync(join(docs, "guide.md"), "back\n");
    place.done("plan", "checkpoint", "fix");
    assert.match(
      place.done("plan", "diff", "fix", "--checkpoint", "good"),
      /^M {2}app\/README\.md.*\nD {2}docs\/guide\.md.*\n0 added, 1 modified, 1 deleted; .*\nas of checkpoint good, saved at \S+Z\nsince then: 0 new, 2 changed, 0 gone\n {3}changed {2}app\/README\.md\n {3}changed {2}docs\/guide\.md\n$/,
    );
    assert.match(
      place.done("plan", "diff", "fix", "--checkpoint", "good", "--patch", "app/README.md"),
      /\n-hello\n\+saved\n$/,
    );
    assert.match(
      place.done("plan", "checkpoints", "fix"),
      /^ID +CREATED +SIZE +LABEL\n\S{26} {2}\S+Z {2}6 bytes +good\n\S{26} {2}\S+Z {2}11 bytes\n$/,
    );
    assert.match(
      place.done("plan", "restore", "good"),
      /^Restored plan \S+ to checkpoint \S+ \(good\)\. 1 checkpoint made after it is gone\.\n$/,
    );
    assert.equal(place.done("plan", "diff", "fix", "--name-only"), "app/README.md\ndocs/guide.md\n");
    assert.match(place.done("plan", "diff", "fix"), /^M {2}app\/README\.md.*\nD {2}docs\/guide\.md/);
    place.done("plan", "apply", "fix");
    assert.match(place.done("plan", "checkpoints", "fix"), /^There are no checkpoints/);
  });

  it("[C7] answer as JSON, and are refused with exit code 2 where they are unknown or gone", () => {
    using place = new Workplace();
    place.folder("app", files);
    const { id } = place.answer("plan", "create", "-r", "app,strategy=filesystem_copy", "--name", "fix");
    const first = place.answer("plan", "checkpoint", "fix", "--label", "first");
    assert.deepEqual(Object.keys(first), [
      "planId",
      "id",
      "label",
      "createdAt",
      "automatic",
      "bytes",
      "warnings",
    ]);
    assert.deepEqual([first.planId, first.label, first.automatic, first.bytes], [id, "first", false, 0]);
    const second = place.answer("plan", "checkpoint", "fix");
    const { checkpoints } = place.answer("plan", "checkpoints", "fix");
    assert.deepEqual(
      checkpoints.map((checkpoint: { id: string }) => checkpoint.id),
      [first.id, second.id],
    );
    const restored = place.answer("plan", "restore", "fix", "first");
    assert.deepEqual(
      [restored.planId, restored.checkpoint.id, restored.dropped],
      [id, first.id, [second.id]],
    );
    for (const [args, message] of [
      [["plan", "restore", "fix", second.id], /is no longer kept/],
      [["plan", "restore", "fix", "never"], /has no checkpoint 'never'/],
      [["plan", "restore", "fix", ""], /has no checkpoint ''/],
      [["plan", "diff", "fix", "--checkpoint", "never"], /has no checkpoint 'never'/],
      [["plan", "restore"], /The checkpoint to restore is missing/],
      [["plan", "checkpoint", "fix", "--label", "first"], /has a checkpoint called 'first' already/],
      [["plan", "checkpoint", "fix", "--label", ""], /A name is empty/],
      [["plan", "checkpoints", "unknown"], /There is no plan/],
    ] as const) {
      assertRefused(place.drydock(args), 2, message);
    }
  });

  it("[C7] are made before each command inside, unless the config says otherwise", () => {
    using place = new Workplace();
    place.folder("app", files);
    place.done("plan", "create", "-r", "app", "--name", "fix");
    place.done("plan", "exec", "fix", "--", "sh", "-c", "echo one > README.md");
    place.done("plan", "exec", "fix", "--", "sh", "-c", "echo two > README.md");
    const { checkpoints } = place.answer("plan", "checkpoints", "fix");
    assert.deepEqual(
      checkpoints.map(({ automatic, before }: { automatic: boolean; before: string }) => [automatic, before]),
      [
        [true, 'sh -c "echo one > README.md"'],
        [true, 'sh -c "echo two > README.md"'],
      ],
    );
    place.done("plan", "restore", "fix", checkpoints[1].id);
    assert.equal(place.done("plan", "read", "fix", "app", "README.md"), "one\n");
    place.done("plan", "restore", "fix", checkpoints[0].id);
    assert.equal(place.done("plan", "diff", "fix", "--name-only"), "");
    writeFileSync(join(place.path, "never.yaml"), "sandbox: { checkpoint: { auto_create_on: [] } }\n");
    place.done("plan", "exec", "fix", "--config", "never.yaml", "--", "true");
    assert.equal(place.answer("plan", "checkpoints", "fix").checkpoints.length, 1);
  });
});
