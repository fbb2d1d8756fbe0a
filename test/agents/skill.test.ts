import assert from "node:assert/strict";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { program, Workplace } from "../end-to-end/workplace.ts";
import { projectRoot } from "../project/project-copy.ts";

const SKILL = "skills/drydock/SKILL.md";

function text(path: string): string {
  return readFileSync(join(projectRoot, path), "utf8");
}

/** The scripts of a page, and the commands of Drydock that its sentences name. */
function scriptsOf(page: string): { readonly scripts: readonly string[]; readonly named: readonly string[] } {
  const scripts = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, script = ""]) => script);
  const prose = page.replaceAll(/^```.*?^```$/gms, "");
  const named = [...prose.matchAll(/`drydock ((?:[a-z]+ )*[a-z]+)[^`]*`/g)].map(([, words = ""]) => words);
  return { scripts, named };
}

describe("the skill for agents", () => {
  const { scripts, named } = scriptsOf(text(SKILL));

  it("says nothing that fails: every script runs, in order, with the approval of a person between", () => {
    using place = new Workplace();
    place.folder("shop", { "prices.txt": "tax 0.19\n" });
    place.folder("bin", {});
    symlinkSync(program, join(place.path, "bin/drydock"));
    const options = {
      cwd: join(place.path, "shop"),
      env: { PATH: `${join(place.path, "bin")}:${process.env["PATH"]}` },
    };
    assert.equal(scripts.length, 4);
    // The ways that the page shows last, after the end of the plan, are for an open one.
    const [work = "", back = "", land = "", ways = ""] = scripts;
    for (const script of [work, back, ways, APPROVE, land, "drydock plan undo lower-tax"]) {
      const { status, stderr } = place.shell(`set -e\n${script}`, options);
      assert.equal(status, 0, `${script}\n${stderr}`);
      if (script === back) assert.equal(place.read("shop/prices.txt"), "tax 0.19\n");
      if (script === land)
        assert.deepEqual(place.tree("shop"), { "prices.txt": "tax 0.07\n" }, "the notes were taken back");
    }
    assert.deepEqual(place.tree("shop"), { "prices.txt": "tax 0.19\n" });
  });

  it("names only commands that there are", () => {
    using place = new Workplace();
    assert.ok(named.length > 5);
    for (const words of new Set(named)) {
      const [first = "", second = ""] = words.split(" ");
      const command = ["plan", "cleanup"].includes(first) ? [first, second] : [first];
      assert.match(place.done(...command, "--help"), new RegExp(`^Usage: drydock ${command.join(" ")}`));
    }
  });

  it("is the same in the plugin of Claude Code, which can hold only files of its own", () => {
    assert.equal(text(`integrations/claude-code/${SKILL}`), text(SKILL));
  });

  it("says when to use it in a head that agents can read", () => {
    const [, head = ""] = /^---\n(.*?)\n---\n/s.exec(text(SKILL)) ?? [];
    const fields = Object.fromEntries(
      head.split("\n").map((line) => /^(\w+): (.*)$/.exec(line)?.slice(1) ?? []),
    );
    assert.equal(fields["name"], "drydock");
    assert.ok((fields["description"] ?? "").length < 1024);
  });
});

/** The person's part, at a place without a terminal. */
const APPROVE = `drydock approve lower-tax --digest "$(drydock plan diff lower-tax | sed -n 's/^digest //p')"`;
