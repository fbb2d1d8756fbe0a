import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type LandingPath, selfRunningAmong } from "./self-running.ts";
import { SELF_RUNNING_RULES } from "./self-running-rules.ts";

const toolOf = (path: string, kind: LandingPath["kind"] = "file", location = "/home/user/app") =>
  selfRunningAmong(location, [{ path, operation: "added", kind }])[0]?.file.tool;

describe("files that tools run by themselves", () => {
  it("[X9] are known at any depth", () => {
    const known: { readonly [path: string]: string } = {
      ".git/hooks/post-checkout": "git",
      "node_modules/left-pad/.git/config": "git",
      "vendor/lib/.git/config": "git",
      ".git/modules/vendor/lib/hooks/x": "git",
      ".git/worktrees/linked/modules/lib/hooks/x": "git",
      ".git/worktrees/linked/modules/lib/config": "git",
      ".git/modules/lib/rebase-merge/git-rebase-todo": "git",
      ".git/worktrees/w/commondir": "git",
      "bare.git/config": "git",
      "disguised/HEAD": "git",
      "scripts/hooks/pre-push": "git",
      "a/b/.envrc": "direnv, mise, rvm",
      "mise.local.toml": "direnv, mise, rvm",
      ".vscode/settings.json": "VS Code",
      "app.code-workspace": "VS Code",
      ".idea/runConfigurations/x.xml": "JetBrains IDEs",
      ".devcontainer/devcontainer.json": "dev containers",
      ".mcp.json": "agents",
      ".claude/settings.local.json": "agents",
      ".cursor/hooks/x/y": "agents",
      ".yarn/releases/yarn.cjs": "npm, pnpm, yarn, bun",
      ".config/fish/conf.d/x.fish": "shells",
      ".ssh/rc": "ssh, gpg",
      "sub/drydock.yaml": "drydock",
    };
    assert.deepEqual(Object.fromEntries(Object.keys(known).map((path) => [path, toolOf(path)])), known);
  });

  it("[X9] are not what git itself writes all the time, nor ordinary code", () => {
    const ordinary = [
      ".git/HEAD",
      ".git/index",
      ".git/logs/HEAD",
      ".git/refs/heads/config",
      ".git/refs/remotes/origin/HEAD",
      ".git/modules/lib/HEAD",
      ".git/hooks/pre-commit.sample",
      "src/hooks/use-cart.ts",
      "config",
      "src/git/config",
      "package.json",
      "node_modules/left-pad/.vscode/tasks.json",
      "Makefile",
      ".gitattributes",
      ".github/workflows/ci.yml",
      ".claude/worktrees/x/src/app.ts",
      ".cursor/worktrees/app/x/y.ts",
    ];
    for (const path of ordinary) assert.equal(toolOf(path), undefined, path);
    for (const kind of ["directory", "row", "table", "object"] as const)
      assert.equal(toolOf(".envrc", kind), undefined);
  });

  it("[X9] are known by every name under which some file system finds them", () => {
    for (const path of [
      ".GIT/Config",
      "git~1/config",
      ".git./config",
      ".git /config",
      ".git::$INDEX_ALLOCATION/config",
    ])
      assert.equal(toolOf(path), "git", path);
    assert.equal(toolOf(".g\u200cit/config"), "git", "a character that nobody sees");
    assert.equal(toolOf(".hu\u017f\u212ay/x"), "husky, lefthook, pre-commit", "letters that fold to others");
    assert.equal(toolOf("\udcff/.envrc"), "direnv, mise, rvm", "bytes that are not UTF-8 above it");
  });

  it("[X9] may be behind a link that stands where their folder would be", () => {
    const folders = [".git", ".git/hooks", ".config", ".husky", ".claude/hooks", "hooks"];
    const modules = ["", "/lib", "/lib/modules/deep"].map((name) => `.git/modules${name}`);
    for (const path of [...folders, ...modules, ".git/worktrees/linked"])
      assert.ok(toolOf(path, "symlink"), path);
    assert.equal(toolOf("src", "symlink"), undefined);
    assert.equal(toolOf(".git/refs", "symlink"), undefined);
  });

  it("[X9] are judged by the whole path, wherever the resource begins", () => {
    assert.equal(toolOf(".", "file", "/home/user/.profile"), "shells");
    assert.equal(toolOf("pre-commit", "file", "/srv/app/.git/hooks"), "git");
    assert.equal(toolOf(".envrc", "file", "/"), "direnv, mise, rvm");
    assert.equal(toolOf("src/app.ts", "file", "/home/user/.claude/worktrees/x"), undefined);
  });

  it("[X9] have a reason each, and every pattern means something", () => {
    for (const { tool, why, patterns } of SELF_RUNNING_RULES) {
      assert.match(`${tool} ${why}.`, /^\S.* \S.*[a-z)]\.$/);
      for (const pattern of patterns) {
        const sample = pattern
          .replace(/\{([^},]*)[^}]*\}/g, "$1")
          .replaceAll("**", "x/y")
          .replaceAll("*", "");
        assert.ok(toolOf(sample), `${pattern} as ${sample}`);
      }
    }
  });

  it("[X9] are in the documentation, each with its reason", () => {
    const text = readFileSync(join(import.meta.dirname, "../../../docs/self-running.md"), "utf8");
    for (const { tool, why, patterns, except = [] } of SELF_RUNNING_RULES) {
      const row = text.split("\n").find((line) => line.endsWith(` | ${tool} ${why} |`)) ?? "";
      const named = [...row.matchAll(/`([^`]+)`/g)].map(([, pattern]) => pattern);
      assert.deepEqual(named, [...patterns, ...except]);
    }
    assert.equal(text.match(/^\| `/gm)?.length, SELF_RUNNING_RULES.length);
  });
});
