import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ERROR_CODES } from "../core/errors/error-codes.ts";
import { DrydockError } from "../core/errors/errors.ts";
import { agentHint } from "./agent-hints.ts";
import { TOOLS } from "./mcp-server.ts";

describe("the hint of an error for agents", () => {
  it("[P7] names tools that there are, and no function of the library", () => {
    const tools = new Set(TOOLS.map(({ name }) => name));
    for (const code of ERROR_CODES) {
      const hint = agentHint(new DrydockError(code, "m"));
      for (const [name] of hint.matchAll(/\bplan_\w+/g)) assert.ok(tools.has(name), `${code}: ${hint}`);
      assert.doesNotMatch(hint, /`|undefined|cause shows/, code);
    }
  });
});
