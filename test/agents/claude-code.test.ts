import assert from "node:assert/strict";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { program, Workplace } from "../end-to-end/workplace.ts";
import { projectRoot } from "../project/project-copy.ts";
import { IS_LONG } from "../support/long-form.ts";
import { NpmTool } from "./npm-tool.ts";

const PLUGIN = "integrations/claude-code";
// It takes 355 MB to install.
const itIfLong = IS_LONG ? it : () => undefined;

// biome-ignore lint/suspicious/noExplicitAny: what comes out is what the tests look at
function json(path: string): any {
  return JSON.parse(readFileSync(join(projectRoot, path), "utf8"));
}

describe("the plugin of Claude Code", () => {
  it("is in the marketplace of this repository, with the version of the package", () => {
    const { plugins } = json(".claude-plugin/marketplace.json");
    const { name, version, description } = json(`${PLUGIN}/.claude-plugin/plugin.json`);
    assert.deepEqual(plugins, [{ name, source: `./${PLUGIN}`, description }]);
    assert.equal(version, json("package.json").version);
  });

  it("starts 'drydock mcp', and calls 'drydock hook' for events that it knows, bounded in time", () => {
    assert.deepEqual(json(`${PLUGIN}/.mcp.json`).mcpServers.drydock, { command: "drydock", args: ["mcp"] });
    const events: [string, [{ hooks: object[] }]][] = Object.entries(
      json(`${PLUGIN}/hooks/hooks.json`).hooks,
    );
    const known = readFileSync(join(projectRoot, "src/cli/commands/agent/hook.ts"), "utf8");
    for (const [event, [{ hooks }]] of events) {
      assert.match(known, new RegExp(`^ {2}${event}: `, "m"));
      const timeout = event.startsWith("Worktree") ? 300 : 30;
      // Exit code 2, that of an unknown command too, would keep the agent from stopping.
      assert.deepEqual(hooks, [{ type: "command", command: "drydock hook || exit 1", timeout }], event);
    }
    assert.equal(events.length, known.match(/^ {2}\w+: \w+,$/gm)?.length);
  });

  itIfLong("satisfies Claude Code itself, which then reaches the MCP server", async () => {
    const name = "@anthropic-ai/claude-code";
    using claude = new NpmTool(name, "2.1.326", `${name}-linux-x64/claude`);
    using place = new Workplace();
    place.folder("bin", {});
    symlinkSync(program, join(place.path, "bin/drydock"));
    const env = { ...place.environment, PATH: `${join(place.path, "bin")}:${process.env["PATH"]}` };
    for (const path of [PLUGIN, ".", "skills"]) {
      const checked = await claude.run(["plugin", "validate", "--strict", path], { cwd: projectRoot, env });
      assert.equal(checked.status, 0, `${path}: ${checked.stdout}${checked.stderr}`);
    }
    await claude.run(["mcp", "add", "drydock", "--", "drydock", "mcp"], { cwd: place.path, env });
    const { stdout } = await claude.run(["mcp", "list"], { cwd: place.path, env });
    assert.match(stdout, /^drydock: drydock mcp - .*Connected$/m);
  });
});
