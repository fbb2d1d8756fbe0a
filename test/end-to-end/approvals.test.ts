import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Stage } from "../run/stage.ts";
import { assertRefused, Workplace } from "./workplace.ts";

/** A plan with one changed file. */
function planIn(place: Workplace): { readonly path: string; digest(): string } {
  place.folder("app", { "prices.txt": "10\n" });
  place.done("plan", "create", "--name", "fix", "-r", "app,strategy=filesystem_copy");
  const path = place.done("plan", "path", "fix").trim();
  writeFileSync(join(path, "prices.txt"), "11\n");
  return { path, digest: () => place.answer("plan", "diff", "fix").digest };
}

describe("approvals", () => {
  it("[P9] an apply lands exactly what was approved, and the log tells who approved it and how", () => {
    using place = new Workplace();
    const { digest } = planIn(place);
    assertRefused(
      place.drydock(["plan", "apply", "fix", "--approved"]),
      2,
      /The plan fix is not approved\./,
      /approve/,
    );

    const approval = place.answer("approve", "fix", "--digest", digest());
    assert.deepEqual([approval.digest, approval.via], [digest(), "command line"]);
    assert.equal(place.answer("plan", "apply", "fix", "--approved").state, "applied");
    assert.equal(place.read("app/prices.txt"), "11\n");

    const { entries } = place.answer("plan", "log", "fix");
    const approved = entries.find(({ event }: { event: string }) => event === "approved");
    assert.deepEqual(approved.details, { digest: approval.digest, via: "command line", allow: [] });
    assert.equal(approved.actor, approval.actor);
  });

  it("[P9] an approval is void once a sandbox or an original moves, and counts again for the same changes", () => {
    using place = new Workplace();
    const { path, digest } = planIn(place);
    place.done("approve", "fix", "--digest", digest());

    writeFileSync(join(path, "more.txt"), "new\n");
    const apply = () => place.drydock(["plan", "apply", "fix", "--approved"]);
    assertRefused(
      apply(),
      3,
      /What would land now is not what was approved by .*: that approval is void/,
      /diff/,
    );
    assert.equal(place.read("app/prices.txt"), "10\n");

    place.done("approve", "fix", "--digest", digest());
    writeFileSync(join(place.path, "app/prices.txt"), "9\n");
    assertRefused(apply(), 3, /that approval is void/, /diff/);
    assert.equal(place.read("app/prices.txt"), "9\n");
  });

  it("[P9] refuses to approve what has another digest now, and asks for one where there is no terminal", () => {
    using place = new Workplace();
    const { path, digest } = planIn(place);
    const seen = digest();
    writeFileSync(join(path, "prices.txt"), "12\n");
    assertRefused(
      place.drydock(["approve", "fix", "--digest", seen]),
      3,
      /What would land now is not what was reviewed/,
      /diff/,
    );
    assertRefused(place.drydock(["approve", "fix", "-y"]), 2, /needs the digest/, /--digest/);
    assertRefused(place.drydock(["plan", "apply", "fix", "--approved"]), 2, /is not approved/, /approve/);
  });

  it("[X9] an approval needs the user's word for what tools run by themselves, and carries it to the apply", () => {
    using place = new Workplace();
    const { path, digest } = planIn(place);
    writeFileSync(join(path, ".envrc"), "echo hello\n");
    assertRefused(place.drydock(["approve", "fix", "--digest", digest()]), 1, /\.envrc/, /--allow/);
    place.done("approve", "fix", "--digest", digest(), "--allow", ".envrc");
    place.done("plan", "apply", "fix", "--approved");
    assert.equal(place.read("app/.envrc"), "echo hello\n");
  });

  it("at a terminal, shows the changes and approves them only by a yes that was typed", async () => {
    using stage = new Stage("root");
    writeFileSync(join(stage.project, "prices.txt"), "10\n");
    stage.done("plan", "create", "--name", "fix", "-r", `${stage.project},strategy=filesystem_copy`);
    writeFileSync(join(stage.done("plan", "path", "fix").trim(), "prices.txt"), "11\n");
    for (const [answer, code] of [
      ["n", 1],
      ["y", 0],
    ] as const) {
      const asked = stage.terminal('"$DRYDOCK" approve fix -y; echo "code $?"');
      await asked.until(() => asked.stdout.includes("Approve exactly these changes? [y/N]"));
      assert.match(asked.stdout, /project\/prices\.txt/);
      asked.input(`${answer}\n`);
      await asked.until(() => asked.stdout.includes(`code ${code}`));
    }
    stage.done("plan", "apply", "fix", "--approved");
  });
});
