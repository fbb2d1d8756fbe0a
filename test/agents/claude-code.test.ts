import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { projectRoot } from "../project/project-copy.ts";

const PLUGIN = "integrations/claude-code";

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
});
