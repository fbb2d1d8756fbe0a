import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { drydockWorkspaces, type WorkspaceAdapter } from "drydock-sandbox/opencode";
import { program, Workplace } from "../end-to-end/workplace.ts";
import { IS_LONG } from "../support/long-form.ts";

const INFO = { id: "wrk_1", type: "drydock", name: "calm-river", branch: null, directory: null } as const;

/** What the plugin registers, in this folder. */
async function adapterIn(place: Workplace, directory: string): Promise<WorkspaceAdapter> {
  const registered = new Map<string, WorkspaceAdapter>();
  const workspaces = { register: (type: string, adapter: WorkspaceAdapter) => registered.set(type, adapter) };
  const script = join(place.path, "drydock-here");
  const state = `DRYDOCK_STATE_DIR='${place.state}'`;
  writeFileSync(script, `#!/bin/sh\n${state} exec '${program}' "$@"\n`, { mode: 0o755 });
  await drydockWorkspaces({ directory, experimental_workspace: workspaces }, { program: script });
  const adapter = registered.get("drydock");
  assert.ok(adapter !== undefined);
  return adapter;
}

describe("the workspaces of opencode", () => {
  it("[P12] are folders of plans, found again by their names, and go when there is no work in them", async () => {
    using place = new Workplace();
    const app = place.folder("app", { "a.txt": "old\n" });
    const adapter = await adapterIn(place, app);
    const info = await adapter.configure({ ...INFO, extra: null, projectID: "p" });
    await adapter.create(info);
    const { type, directory } = adapter.target(info);
    assert.equal(type, "local");
    assert.equal(readFileSync(join(directory, "a.txt"), "utf8"), "old\n");
    assert.equal(directory, place.answer("plan", "path", "calm-river").path);
    assert.deepEqual(await adapter.configure(info), info, "the same plan");
    await adapter.remove(info);
    assert.equal(existsSync(directory), false);

    const worked = await adapter.configure({ ...info, name: "warm-lake" });
    writeFileSync(join(adapter.target(worked).directory, "a.txt"), "new\n");
    await adapter.remove(worked);
    assert.equal(place.answer("plan", "show", "warm-lake").state, "open", "its work stays");
    place.done("plan", "apply", "warm-lake");
    assert.equal(place.read("app/a.txt"), "new\n");
  });

  it("[P12] say why there is none", async () => {
    using place = new Workplace();
    const adapter = await adapterIn(place, join(place.path, "nowhere"));
    await assert.rejects(async () => await adapter.configure({ ...INFO, extra: null, projectID: "p" }), {
      message: /nowhere/,
    });
    assert.throws(() => adapter.target({ ...INFO, extra: null, projectID: "p" }), /has no folder/);
  });
});

if (IS_LONG) {
  await import("./opencode-types.ts");
  await import("./opencode-program.ts");
}
