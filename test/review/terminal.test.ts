import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { changeDigest } from "../../src/plans/review/change-digests.ts";
import { assertRefused, type Running, Workplace } from "../end-to-end/workplace.ts";
import { Stage } from "../run/stage.ts";

function lines(changed: readonly number[] = []): string {
  return Array.from({ length: 20 }, (_, at) => `${changed.includes(at) ? "new" : "old"} ${at}\n`).join("");
}

/** A plan that changes a file in two places, and another one. */
function staged(): Stage {
  const stage = new Stage("root");
  writeFileSync(join(stage.project, "long.txt"), lines());
  writeFileSync(join(stage.project, "prices.txt"), "10\n");
  stage.done("plan", "create", "--name", "fix", "-r", `${stage.project},strategy=filesystem_copy`);
  const sandbox = stage.done("plan", "path", "fix").trim();
  writeFileSync(join(sandbox, "long.txt"), lines([2, 17]));
  writeFileSync(join(sandbox, "prices.txt"), "11\n");
  return stage;
}

/** Answers each question when it is there. */
async function answering(asked: Running, answers: readonly (readonly [RegExp, string])[]): Promise<string> {
  let from = 0;
  for (const [question, answer] of answers) {
    await asked.until(() => question.test(asked.stdout.slice(from)));
    from = asked.stdout.length;
    asked.input(`${answer}\n`);
  }
  await asked.until(() => /code \d/.test(asked.stdout.slice(from)));
  return asked.stdout;
}

describe("'drydock review --tty'", () => {
  it("[V14] asks hunk by hunk and for a verdict, keeps votes and comments, and what is approved lands alone", async () => {
    using stage = staged();
    const asked = stage.terminal('"$DRYDOCK" review fix --tty; echo "code $?"');
    const shown = await answering(asked, [
      [/-old 2[\s\S]*Approve this hunk \(1\/2\)\?/, "y"],
      [/\+new 17[\s\S]*Approve this hunk \(2\/2\)\?/, "c"],
      [/Comment: /, "why this?"],
      [/Approve this hunk \(2\/2\)\?/, "n"],
      [/\+11[\s\S]*Approve this change\?/, "?"],
      [/q {2}leave the rest[\s\S]*Approve this change\?/, "y"],
      [/1 approved, 0 rejected, 1 in part, 0 without[\s\S]*Ask for changes\?/, "leave line 17 alone"],
    ]);
    assert.match(
      shown,
      /Changes asked for fix:\r\nleave line 17 alone\r\nproject\/long\.txt:\d+: why this\?/,
    );
    assert.match(shown, /code 1/);

    assert.equal(stage.answer("plan", "apply", "fix", "--approved-part").state, "open");
    assert.equal(stage.read("project/long.txt"), lines([2]));
    assert.equal(stage.read("project/prices.txt"), "11\n");
    const log = stage.done("plan", "log", "fix");
    assert.match(log, /changes asked .*leave line 17 alone/);
    assert.match(log, /commented .*why this\?/);
  });

  it("[V14] ends with 0 by an approval of the plan, with 2 without a verdict, and goes on where it was", async () => {
    using stage = staged();
    const first = stage.terminal('"$DRYDOCK" review fix --tty; echo "code $?"');
    const left = await answering(first, [
      [/Approve this hunk \(1\/2\)\?/, "a"],
      [/Approve this change\?/, "q"],
      [/Ask for changes\?/, "\u0004"],
    ]);
    assert.match(left, /leave: \S*\r?\nThe review was closed without a verdict[\s\S]*code 2/);

    const second = stage.terminal('"$DRYDOCK" review fix --tty; echo "code $?"');
    const shown = await answering(second, [
      [/Approve this change\?/, "y"],
      [/Approve the plan as a whole\?/, "y"],
    ]);
    assert.match(shown, /Approved fix with digest[\s\S]*code 0/);
    assert.equal(stage.answer("plan", "apply", "fix", "--approved").state, "applied");
    const refused = stage.drydock(["review", "fix", "--tty"]);
    assert.equal(refused.status, 2);
    assert.match(refused.stderr, /needs a terminal/);
  });
});

describe("'drydock review' with --request or --comment", () => {
  it("asks a person, and says something about a plan, a change or a line of it", () => {
    using place = new Workplace();
    place.folder("app", { "a.txt": "one\n", "b:2": "one\n" });
    place.folder("web", { "a.txt": "one\n" });
    place.done("plan", "create", "--name", "work", "-r", "app", "-r", "web");
    for (const [resource, path] of [
      ["app", "a.txt"],
      ["app", "b:2"],
      ["web", "a.txt"],
    ] as const)
      place.drydock(["plan", "write", "work", resource, path], { input: "two\n" });
    const say = (...args: readonly string[]) => place.done("review", "--comment", "why?", ...args);
    assert.equal(say(), "Commented on the plan.\n");
    assert.equal(say("--on", "./app/a.txt:1", "work"), "Commented on app/a.txt:1.\n");
    assert.equal(say("--on", "b:2"), "Commented on app/b:2.\n");
    assert.equal(say("--on", "b:2:1"), "Commented on app/b:2:1.\n");
    const { id, actor, at, ...said } = JSON.parse(say("--on", "web/a.txt", "--json"));
    const changes: { resource: string }[] = place.answer("plan", "diff").changes;
    const change = changes.find(({ resource }) => resource === "web");
    assert.deepEqual(said, {
      ...{ text: "why?", resource: "web", path: "a.txt", via: "command line" },
      digest: changeDigest(change as Parameters<typeof changeDigest>[0]),
    });
    const several = place.drydock(["review", "--comment", "why?", "--on", "a.txt:1"]);
    assertRefused(several, 2, /changes a\.txt in several resources/, /app, web/);

    const asked = place.answer("review", "--request", "-m", "is it right?");
    const { digest } = place.answer("plan", "diff");
    assert.deepEqual([asked.digest, asked.approval], [digest, undefined]);
    assert.equal(place.answer("plan", "show").review, "asked");
    assert.match(place.done("plan", "log"), /review asked .*is it right\?/);
    place.done("approve", "--digest", digest);
    assert.equal(
      place.done("review", "--request"),
      `Asked for a review of ${asked.planId} with digest ${digest}.\nIt is approved already.\n`,
    );
  });
});
