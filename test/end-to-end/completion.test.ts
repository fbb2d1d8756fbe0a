import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { assertRefused, program, Workplace } from "./workplace.ts";

/** A place with two plans, and `drydock` among the programs. */
class Shells extends Workplace {
  constructor() {
    super();
    for (const name of ["app", "site"]) mkdirSync(join(this.path, name));
    mkdirSync(join(this.path, "home"));
    this.done("plan", "create", "--name", "first", "-r", "app");
    this.done("plan", "create", "--name", "second", "-r", "app", "-r", "web=site");
  }

  override get environment(): NodeJS.ProcessEnv {
    const { PATH, ...rest } = super.environment;
    return { ...rest, PATH: `${dirname(program)}:${PATH}`, TERM: "dumb" };
  }

  words(...typed: readonly string[]): readonly string[] {
    const lines = this.done("completion", "--words", "--", ...typed).split("\n");
    return lines.filter((line) => line !== "").map((line) => line.split("\t")[0] ?? "");
  }
}

const has = (shell: string) => spawnSync(shell, ["--version"]).status === 0;

describe("The completion of a shell", () => {
  it("[P13] knows commands, options and the names of plans, resources, checkpoints, strategies and types", () => {
    using place = new Shells();
    assert.deepEqual(place.words("pl"), ["plan"]);
    assert.deepEqual(place.words("plan", "ch"), ["checkpoint", "checkpoints"]);
    assert.deepEqual(place.words("--state-dir", place.state, "plan", "undo", ""), ["second", "first"]);
    assert.deepEqual(place.words("plan", "cancel", "f"), ["first"]);
    assert.deepEqual(place.words("plan", "path", "second", ""), ["app", "web"]);
    assert.deepEqual(place.words("plan", "diff", "--na"), ["--name-only"]);
    assert.deepEqual(place.words("review", "--request", "f"), ["first"]);
    assert.deepEqual(place.words("strategy", "check", "filesystem"), ["filesystem_copy"]);
    assert.deepEqual(place.words("resource-type", "show", "fs-f"), ["fs-file"]);
    place.done("plan", "checkpoint", "first", "--label", "good");
    assert.deepEqual(place.words("plan", "restore", "first", "g"), ["good"]);
    place.done("plan", "cancel", "first");
    assert.deepEqual(place.words("plan", "cancel", ""), ["second"]);
    assert.deepEqual(place.words("plan", "log", "f"), ["first"]);
  });

  it("[P13] leaves values and words of the user's own command to the shell", () => {
    using place = new Shells();
    for (const typed of [
      ["run", "--", "pl"],
      ["--config", ""],
      ["plan", "create", "-r", ""],
      ["nope", ""],
    ])
      assert.deepEqual(place.words(...typed), [], typed.join(" "));
  });

  it("[P13] is for bash, zsh and fish, and for no other", () => {
    using place = new Shells();
    for (const shell of ["bash", "zsh", "fish"])
      assert.match(place.done("completion", shell), /drydock completion --words/);
    assertRefused(place.drydock(["completion", "tcsh"]), 2, /no completion for 'tcsh'/);
    assertRefused(place.drydock(["completion"]), 2, /Which shell/);
  });

  it("[P13] works in a real bash", () => {
    using place = new Shells();
    const script = `eval "$(drydock completion bash)"
      COMP_WORDS=(drydock plan cancel f); COMP_CWORD=3; _drydock; echo "\${COMPREPLY[@]}"
      COMP_WORDS=(drydock plan path second ''); COMP_CWORD=4; _drydock; echo "\${COMPREPLY[@]}"
      complete -p drydock`;
    const { stdout, stderr } = place.run("bash", ["-c", script]);
    assert.equal(stdout, "first\napp web\ncomplete -o default -F _drydock drydock\n", stderr);
  });

  it("[P13] works in a real fish", { skip: !has("fish") && "fish is missing" }, () => {
    using place = new Shells();
    const script = `drydock completion fish | source
      complete -C "drydock plan cancel f"; complete -C "drydock plan path second "; complete -C "drydock run -- ap"`;
    const { stdout, stderr } = place.run("fish", ["--no-config", "-c", script]);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => line.split("\t")[0]);
    assert.deepEqual(lines, ["first", "app", "web", "app/"], stderr);
  });

  const starts = {
    "its start-up file": 'autoload -Uz compinit && compinit -u -D\neval "$(drydock completion zsh)"\n',
    "a folder of functions":
      "drydock completion zsh > _drydock\nfpath=($PWD $fpath)\nautoload -Uz compinit && compinit -u -D\n",
  };
  for (const [from, start] of Object.entries(starts)) {
    it(`[P13] works in a real zsh, at a terminal, from ${from}`, {
      skip: !has("zsh") && "zsh is missing",
    }, () => {
      using place = new Shells();
      const input = `${start}drydock plan cancel f\t\nexit\n`;
      const { stdout } = place.run("script", ["-qec", "zsh -f -i", "/dev/null"], { input });
      const open = place.answer("plan", "list").plans.map(({ name }: { readonly name: string }) => name);
      assert.deepEqual(open, ["second"], stdout);
    });
  }
});
