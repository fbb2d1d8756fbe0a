import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { manPage } from "../../scripts/man-page.ts";

const root = join(import.meta.dirname, "../..");
const hasGroff = spawnSync("groff", ["--version"]).status === 0;

function rendered(page: string, ...options: readonly string[]) {
  const args = ["-Kutf8", "-man", "-ww", "-P-c", ...options];
  const { stdout, stderr, status } = spawnSync("groff", args, { input: page, encoding: "utf8" });
  // Bold is a character over itself, and italics are one over a line.
  return { text: stdout.replace(/.\x08/g, ""), stderr, status };
}

describe("The man page", { skip: !hasGroff && "groff is missing" }, () => {
  const markdown = readFileSync(join(root, "docs/cli.md"), "utf8");

  it("[P13] says what docs/cli.md says, without a warning of groff", () => {
    const { text, stderr, status } = rendered(manPage(markdown, "1.2.3"), "-Tutf8", "-rLL=400n");
    assert.deepEqual({ stderr, status }, { stderr: "", status: 0 });
    assert.match(text, /Drydock 1\.2\.3/);
    for (const [, heading = ""] of markdown.matchAll(/^##+ (.+)$/gm))
      assert.ok(text.includes(heading.replaceAll("`", "")), heading);
    // Words that roff or Markdown could have eaten.
    for (const words of ["--state-dir DIR", "\\udce9", "$'caf\\xe9'", "$XDG_STATE_HOME/drydock"])
      assert.ok(text.includes(words), words);
    assert.doesNotMatch(text, /\]\(/);
  });

  it("[P13] keeps lines of code, lists and tables, whatever they begin with", () => {
    const { text } = rendered(
      manPage(
        "# T\n\n```\n.SH no\n'x' a-b\n```\n- one\n  more\n- two\n\n| a | b |\n|---|---|\n| `-x` | c\\|d |\n",
        "1",
      ),
      "-Tutf8",
    );
    assert.match(text, /\.SH no\n +'x' a-b\n/);
    assert.match(text, /• one more\n/);
    assert.match(text, /-x +c\|d/);
  });
});
