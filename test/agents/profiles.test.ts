import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { projectRoot } from "../project/project-copy.ts";
import { ACTORS, Stage } from "../run/stage.ts";
import { itInLongForm } from "../support/long-form.ts";
import { NpmTool, OPENCODE_VERSION } from "./npm-tool.ts";

const CONFIG = "run: { home: { own: true }, network: { mode: allow } }\n";

interface AgentProgram {
  readonly package: string;
  readonly version: string;
  /** Its path below `node_modules`. */
  readonly program: string;
  /**
   * How it is told of a server of the Model Context Protocol: a command, or, if that asks questions, a file.
   */
  readonly add: readonly string[] | { readonly file: string; readonly content: string };
  /** What lists its servers, if that is not `mcp list`. */
  readonly list?: readonly string[];
}

const AGENTS: { readonly [name: string]: AgentProgram } = {
  claude: {
    package: "@anthropic-ai/claude-code",
    version: "2.1.327",
    program: "@anthropic-ai/claude-code-linux-x64/claude",
    add: ["mcp", "add", "--scope", "user", "probe", "--", "true"],
  },
  codex: {
    package: "@openai/codex",
    version: "0.169.0",
    program: ".bin/codex",
    add: ["mcp", "add", "probe", "--", "true"],
  },
  gemini: {
    package: "@google/gemini-cli",
    version: "0.61.0",
    program: ".bin/gemini",
    add: ["mcp", "add", "--scope", "user", "probe", "true"],
  },
  opencode: {
    package: "opencode-ai",
    version: OPENCODE_VERSION,
    program: "opencode-linux-x64/bin/opencode",
    add: {
      file: ".config/opencode/opencode.json",
      content: JSON.stringify({ mcp: { probe: { type: "local", command: ["true"], enabled: false } } }),
    },
  },
  goose: {
    package: "@aaif/goose-binary-linux-x64",
    version: "1.52.0",
    program: "@aaif/goose-binary-linux-x64/bin/goose",
    add: {
      file: ".config/goose/config.yaml",
      content:
        "extensions: { probe: { enabled: true, type: stdio, name: probe, cmd: 'true', args: [], timeout: 300 } }\n",
    },
    list: ["info", "-v"],
  },
};

/** The first column of the table under a heading of docs/agents.md. */
function namesUnder(heading: string): readonly string[] {
  const text = readFileSync(join(projectRoot, "docs/agents.md"), "utf8");
  const [table = ""] = text.slice(text.indexOf(`## ${heading}\n`)).match(/^ *\|(?:.*\n *\|)*.*$/m) ?? [];
  return [...table.matchAll(/^ *\| `(\w+)` \|/gm)].map(([, name = ""]) => name);
}

describe("An agent with a profile", () => {
  it("has its way in, in docs/agents.md", () => {
    const names = namesUnder("Profiles");
    assert.ok(Object.keys(AGENTS).every((name) => names.includes(name)));
    assert.deepEqual(namesUnder("Five minutes, from nothing"), names);
  });

  // They take a gigabyte to install.
  for (const [name, agent] of Object.entries(AGENTS))
    itInLongForm(`starts inside with a home of the plan's own, and keeps what it is told: ${name}`, () => {
      using tool = new NpmTool(agent.package, agent.version, agent.program);
      using stage = new Stage(ACTORS[0] ?? "user");
      stage.write("home/.config/drydock/config.yaml", CONFIG);
      const { add, list = ["mcp", "list"] } = agent;
      if ("file" in add) stage.write(`home/${add.file}`, add.content);
      stage.give();
      const env = { HOME: stage.home, PATH: `${dirname(tool.program)}:${process.env["PATH"]}` };
      const inside = (...args: readonly string[]) => {
        const { status, stdout, stderr } = stage.drydock(["run", "--discard", "--", name, ...args], { env });
        assert.equal(status, 0, `${stdout}${stderr}`);
        return `${stdout}${stderr}`;
      };
      assert.ok(inside("--version").includes(agent.version));
      if (!("file" in add)) inside(...add);
      assert.match(inside(...list), /\bprobe\b/);
    });
});
