import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Drydock, openDrydock, type Plan, type PlanEvent } from "drydock-sandbox";
import { Workplace } from "../end-to-end/workplace.ts";

async function openedIn(place: Workplace): Promise<Drydock> {
  return await openDrydock({ stateDir: place.state, cwd: place.path, environment: place.environment });
}

/** A plan that changes two files in folders, and adds one. */
async function changed(place: Workplace, drydock: Drydock): Promise<Plan> {
  place.folder("app", { "src/a.txt": "a\n", "src/b.txt": "b\n", "doc.txt": "d\n" });
  const resources = [{ location: "app", strategy: "filesystem_copy" }];
  const plan = await drydock.plans.create({ name: "fix", resources });
  await plan.write("src/a.txt", "A\n");
  await plan.write("src/b.txt", "B\n");
  await plan.write("doc.txt", "D\n");
  return plan;
}

async function votesOf(plan: Plan): Promise<{ readonly [path: string]: string | undefined }> {
  const { changes } = await plan.review.changes();
  return Object.fromEntries(changes.map(({ path, vote }) => [path, vote]));
}

describe("the review of a plan", () => {
  it("[P9] a vote on a folder stands for the changes in it, and the vote on one that moves is void", async () => {
    using place = new Workplace();
    await using drydock = await openedIn(place);
    const plan = await changed(place, drydock);
    const { digest } = await plan.review.changes();
    const inSrc = { targets: [{ resource: "app", path: "src" }], digest };
    assert.equal((await plan.review.vote({ vote: "approved", ...inSrc })).changes, 2);
    await plan.review.look({ targets: [{}], digest });
    assert.deepEqual(await votesOf(plan), {
      "src/a.txt": "approved",
      "src/b.txt": "approved",
      "doc.txt": undefined,
    });

    await plan.write("src/b.txt", "B and more\n");
    const page = await plan.review.changes();
    assert.deepEqual(
      page.changes.filter(({ seen }) => !seen).map(({ path }) => path),
      ["src/b.txt"],
    );
    assert.deepEqual([page.votes.approved, page.votes.open, page.unseen], [1, 2, 1]);
    // The folder as it was shown is not the folder that is there now.
    await assert.rejects(plan.review.vote({ vote: "approved", ...inSrc }), { code: "DIGEST_DIFFERS" });

    const a = page.changes.find(({ path }) => path === "src/a.txt");
    await plan.review.vote({ vote: "none", targets: [{ digest: a?.digest ?? "" }] });
    assert.equal((await votesOf(plan))["src/a.txt"], undefined);
  });

  it("is in the log alone: another process sees it at once, and it stays when the plan is over", async () => {
    using place = new Workplace();
    await using drydock = await openedIn(place);
    const plan = await changed(place, drydock);
    await using other = await openedIn(place);
    const there = await other.plans.open("fix");
    const told: PlanEvent["event"][] = [];
    const events = (async () => {
      for await (const { event } of there.events({ after: "now" })) {
        told.push(event);
        if (event === "changes asked") return;
      }
    })();

    const { digest } = await plan.review.changes();
    await plan.review.vote({ vote: "rejected", targets: [{ resource: "app", path: "doc.txt" }], digest });
    const { id } = await plan.review.comment({
      ...{ text: "too loud", resource: "app", path: "doc.txt", side: "after", line: 1 },
    });
    await there.review.editComment(id, { text: "much too loud" });
    await plan.review.askForChanges({ digest, message: "write in lower case" });
    await events;
    assert.deepEqual(
      told.filter((event) => event !== "sealed"),
      ["voted", "commented", "comment edited", "changes asked"],
    );
    assert.equal((await votesOf(there))["doc.txt"], "rejected");
    await plan.cancel();

    const { verdict, comments } = await there.review.show();
    assert.deepEqual([verdict?.verdict, verdict?.message], ["changes asked", "write in lower case"]);
    assert.equal(comments[0]?.text, "much too loud");
    await assert.rejects(plan.review.vote({ vote: "approved", targets: [{}], digest }), {
      code: "PLAN_STATE",
    });
  });

  it("holds votes on as many changes as a plan can have, in few entries", async () => {
    using place = new Workplace();
    await using drydock = await openedIn(place);
    place.folder("app", {});
    const plan = await drydock.plans.create({
      resources: [{ location: "app", strategy: "filesystem_copy" }],
    });
    const path = await plan.path();
    for (let file = 0; file < 2_000; file += 1) writeFileSync(join(path, `f${file}`), "");
    const { digest } = await plan.review.changes({ limit: 1 });
    await plan.review.vote({ vote: "approved", targets: [{}], digest });
    const { votes, changes, next } = await plan.review.changes({ limit: 1 });
    assert.deepEqual([votes.approved, changes.length, typeof next], [2_000, 1, "string"]);
    const { entries } = await plan.log();
    const voted = entries.filter(({ event }) => event === "voted");
    assert.equal(voted.length, 1);
    assert.ok(JSON.stringify(voted).length < 2_000 * 50);
  });

  it("refuses what it can't hold: digests and hunks that are none, empty texts, comments that are not there", async () => {
    using place = new Workplace();
    await using drydock = await openedIn(place);
    const { review } = await changed(place, drydock);
    const bad = { code: "BAD_ARGUMENT" };
    await assert.rejects(review.vote({ vote: "approved", targets: [{ digest: "x" }] }), bad);
    await assert.rejects(review.vote({ vote: "approved", targets: [{ hunk: "0".repeat(16) }] }), bad);
    await assert.rejects(review.vote({ vote: "approved", targets: [{ path: "src" }] }), bad);
    await assert.rejects(review.comment({ text: " " }), bad);
    await assert.rejects(review.comment({ text: "x".repeat(10_001) }), bad);
    await assert.rejects(review.editComment("none", { resolved: true }), { code: "UNKNOWN_COMMENT" });
    const { digest } = await review.changes();
    const nowhere = { targets: [{ resource: "app", path: "nowhere" }], digest };
    await assert.rejects(review.vote({ vote: "approved", ...nowhere }), { code: "NO_MATCH" });
    const gone = { resource: "app", path: "src/none", side: "before" } as const;
    await assert.rejects(review.content(gone), { code: "NO_SUCH_FILE" });
  });
});
