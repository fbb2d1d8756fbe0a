import assert from "node:assert/strict";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Workplace } from "../end-to-end/workplace.ts";
import { GitWorkshop } from "../git/git-workshop.ts";
import { Stage } from "../run/stage.ts";
import { Scene } from "./scene.ts";

/** What a reviewer takes for `if (access === "user") {`, and is something else. */
const TROJAN = 'if (access === "user\u202e \u2066// admin\u2069 \u2066") {\n';
const TAGS = "hello \u{e0068}\u{e0069}\n";

describe("Characters that nobody sees", () => {
  it("[X9] are warned of in the diff, in content, names and links", async () => {
    await using scene = new Scene();
    writeFileSync(scene.at("original/had-them"), TAGS);
    const { drydock, plan, sandbox } = await scene.plan();
    writeFileSync(join(sandbox, "trojan.js"), TROJAN);
    writeFileSync(join(sandbox, "tags"), TAGS);
    writeFileSync(join(sandbox, "escape"), "\u001b[2Jgone\n");
    writeFileSync(join(sandbox, "had-them"), "hello\n");
    writeFileSync(join(sandbox, "ordinary"), "\ufeffé 日本 ❤️ עברית\r\n\tx\n");
    writeFileSync(join(sandbox, "binary"), "\0\u202e");
    writeFileSync(join(sandbox, "na\u200bme"), "x\n");
    symlinkSync("to\u2066", join(sandbox, "link"));
    const { changes } = await drydock.plans.diff(plan.id);
    assert.deepEqual(Object.fromEntries(changes.map(({ path, warnings = [] }) => [path, warnings.join()])), {
      binary: "",
      escape: "holds invisible characters",
      "had-them": "",
      link: "it leads to a name with invisible characters",
      "na\u200bme": "its name holds invisible characters",
      ordinary: "",
      tags: "holds invisible characters",
      "trojan.js": "holds invisible characters",
    });
  });

  it("[X9] are warned of in a git checkout too", async () => {
    await using workshop = new GitWorkshop();
    const { drydock, id } = await workshop.plan();
    await drydock.plans.write(id, "app", "src/app.ts", Buffer.from(TROJAN));
    const { changes } = await drydock.plans.diff(id);
    assert.deepEqual(changes[0]?.warnings, ["holds invisible characters"]);
  });

  it("[X9] reach a program as they are, so that a patch can be applied", () => {
    using place = new Workplace();
    place.folder("app", { "a.js": "old\n" });
    place.done("plan", "create", "--name", "p", "-r", "app");
    place.drydock(["plan", "write", "p", "app", "a.js"], { input: TROJAN });
    const patch = place.done("plan", "diff", "p", "--patch");
    assert.ok(patch.includes(`+${TROJAN}`));
    assert.ok(place.answer("plan", "diff", "p", "--patch").patch.includes(`+${TROJAN}`));
    const applied = place.run("patch", ["-p1", "-d", "app"], { input: patch });
    assert.equal(applied.status, 0, applied.stderr);
    assert.equal(place.read("app/a.js"), TROJAN);
    assert.equal(place.done("plan", "read", "p", "app", "a.js"), TROJAN);
  });

  it("[X9] are shown at a terminal, in whatever a person approves", async () => {
    using stage = new Stage("user");
    const name = "a\u202egpj.sh";
    stage.write(`project/${name}`, "old\n");
    stage.give();
    const script = [
      `"$DRYDOCK" plan create --name 'pl\u200ban' -r . > /dev/null`,
      `printf 'evil \\342\\200\\256x\\n' | "$DRYDOCK" plan write 'pl\u200ban' project '${name}'`,
      ...["", "--patch", "--stat", "--name-only", "--json"].map((how) => `"$DRYDOCK" plan diff ${how}`),
      `"$DRYDOCK" plan read project '${name}'`,
      `"$DRYDOCK" plan checkpoint --label 'la\u2066bel'`,
      `"$DRYDOCK" plan checkpoints`,
      `"$DRYDOCK" plan apply -m 'mes\u{e0041}sage'`,
      `"$DRYDOCK" plan show 'pl\u200ban'; "$DRYDOCK" plan log 'pl\u200ban'; "$DRYDOCK" plan list --all`,
      `"$DRYDOCK" plan diff 'no\u200dne'`,
    ];
    writeFileSync(join(stage.project, "../script.sh"), `${script.join("\n")}\n`);
    const { stdout } = await stage.terminal("bash ../script.sh").ended();
    assert.doesNotMatch(stdout, /[\u202a-\u202e\u2066-\u2069\u200b-\u200f\u{e0000}-\u{e007f}]/u);
    for (const shown of [
      /a\\u202egpj\.sh/,
      /\+evil \\u202ex/,
      /pl\\u200ban/,
      /la\\u2066bel/,
      /mes\\u\{e0041\}sage/,
      /no\\u200dne/,
    ])
      assert.match(stdout, shown);
    assert.match(stdout, /its name holds invisible characters/);
  });
});
