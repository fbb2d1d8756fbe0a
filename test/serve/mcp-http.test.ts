import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Workplace } from "../end-to-end/workplace.ts";
import { Served } from "./served.ts";

const info = { name: "test", version: "1" };

describe("/mcp of 'drydock serve'", () => {
  for (const kind of ["v1", "v2"] as const)
    it(`[P5] [P7] gives an agent (${kind}) with the token the tools of 'drydock mcp'`, async () => {
      using place = new Workplace();
      place.folder("app", { "a.txt": "old\n" });
      await using served = await Served.start(place, ["--listen", "127.0.0.1:0"]);
      const url = new URL("/mcp", served.ready.url);
      const token = place.readAt(served.ready.tokenFile ?? "").trim();
      const requestInit = { headers: { authorization: `Bearer ${token}` } };
      const client = kind === "v1" ? new OldClient(info) : new NewClient(info);
      // The two packages have the same classes, but not the same types.
      if (client instanceof OldClient)
        await client.connect(new OldTransport(url, { requestInit }) as Parameters<OldClient["connect"]>[0]);
      else await client.connect(new NewTransport(url, { requestInit }));
      const call = async (name: string, args: object) => {
        const { structuredContent, isError, content } = (await client.callTool({
          name,
          arguments: { ...args },
        })) as { structuredContent?: { [name: string]: unknown }; isError?: boolean; content: unknown };
        return { isError, data: structuredContent, text: JSON.stringify(content) };
      };
      const { tools } = await client.listTools();
      assert.ok(tools.some(({ name }) => name === "plan_request_review"));
      const made = await call("plan_create", { resources: [{ location: "app" }], name: "p" });
      assert.equal(made.data?.["name"], "p", made.text);
      const ran = await call("plan_exec", { plan: "p", script: "cat a.txt; echo new > a.txt" });
      assert.equal(ran.data?.["stdout"], "old\n");
      const refused = await call("plan_apply", { plan: "p" });
      assert.deepEqual([refused.isError, /NOT_APPROVED|not approved/.test(refused.text)], [true, true]);
      await client.close();
      const nobody = kind === "v1" ? new OldClient(info) : new NewClient(info);
      await assert.rejects(
        nobody instanceof OldClient
          ? nobody.connect(new OldTransport(url) as Parameters<OldClient["connect"]>[0])
          : nobody.connect(new NewTransport(url)),
      );
    });
});
