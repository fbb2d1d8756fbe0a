import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Ended, Workplace } from "../end-to-end/workplace.ts";
import { TestRepository } from "../support/test-repository.ts";

/** What Claude Code 2.1.326 sends with every event. */
const SESSION = {
  session_id: "88906ce5-06df-47e7-9fef-5e002080f637",
  transcript_path: "/home/ada/.claude/projects/app/88906ce5-06df-47e7-9fef-5e002080f637.jsonl",
  prompt_id: "952e34ce-f2a0-4327-918b-a0780c9f1705",
};

/** A checkout, and an agent that calls hooks there, in the form in which the plugin has them. */
class AgentPlace extends Workplace {
  readonly app = this.folder("app", { "prices.txt": "10\n" });

  constructor() {
    super();
    const repository = new TestRepository(this.app);
    repository.git("init", "-q", "-b", "main");
    repository.commitAll("begin");
  }

  hook(event: string, fields: object = {}, env: NodeJS.ProcessEnv = {}): Ended {
    const input = JSON.stringify({ ...SESSION, cwd: this.app, hook_event_name: event, ...fields });
    return this.shell('"$DRYDOCK" hook || exit 1', { input, env });
  }

  /** The same; it must succeed. Returns what it printed. */
  hooked(event: string, fields: object = {}): string {
    const { status, stdout, stderr } = this.hook(event, fields);
    assert.deepEqual([status, stderr], [0, ""]);
    return stdout;
  }

  stop(cwd: string, event = "Stop"): string {
    const fields = { permission_mode: "default", effort: { level: "medium" }, stop_hook_active: false };
    return this.hooked(event, { ...fields, cwd, last_assistant_message: "Done.", background_tasks: [] });
  }

  worktree(name: string): string {
    const printed = this.hooked("WorktreeCreate", { name });
    assert.match(printed, /^\/[^\n]+\n$/);
    return printed.trimEnd();
  }

  labels(plan: string): readonly string[] {
    return this.answer("plan", "checkpoints", plan).checkpoints.map(({ label = "" }) => label);
  }

  plans(): readonly string[] {
    return this.answer("plan", "list").plans.map(({ name }: { name: string }) => name);
  }
}

describe("drydock hook", () => {
  it("hands out a plan's folder as a worktree, whose turns are checkpoints, and which lands", () => {
    using place = new AgentPlace();
    const folder = place.worktree("fix-it");
    assert.equal(place.readAt(join(folder, "prices.txt")), "10\n");
    writeFileSync(join(folder, "prices.txt"), "11\n");
    assert.equal(place.stop(folder), "");
    writeFileSync(join(folder, "prices.txt"), "12\n");
    place.stop(folder);
    assert.deepEqual(place.labels("fix-it"), ["turn 1", "turn 2"]);
    assert.equal(place.read("app/prices.txt"), "10\n");
    place.done("plan", "restore", "fix-it", "turn 1");
    assert.equal(place.readAt(join(folder, "prices.txt")), "11\n");
    place.stop(folder, "SubagentStop");
    assert.deepEqual(place.labels("fix-it"), ["turn 1", "turn 2"]);

    assert.equal(place.worktree("fix-it"), folder, "a worktree of that name is found again");
    place.done("plan", "apply", "fix-it");
    assert.equal(place.read("app/prices.txt"), "11\n");
  });

  it("gives a folder that is no checkout a copy, and refuses what it can't isolate", () => {
    using place = new AgentPlace();
    place.folder("plain", { "a.txt": "a\n" });
    const cwd = join(place.path, "plain");
    const folder = place.hooked("WorktreeCreate", { name: "copy", cwd }).trimEnd();
    writeFileSync(join(folder, "a.txt"), "b\n");
    assert.equal(place.read("plain/a.txt"), "a\n");

    const nested = place.hook("WorktreeCreate", { name: "inner", cwd: folder });
    assert.deepEqual([nested.status, nested.stdout], [1, ""]);
    assert.match(nested.stderr, /^error: .*sandbox/m);
    const inside = place.hook("WorktreeCreate", { name: "inside" }, { DRYDOCK_PLAN: "01PLAN" });
    assert.deepEqual([inside.status, inside.stdout], [1, ""]);
    assert.match(inside.stderr, /inside of plan 01PLAN/);
    assert.deepEqual(place.plans(), ["copy"]);
  });

  it("removes a worktree without work, and keeps one with work as a plan", () => {
    using place = new AgentPlace();
    const [empty, full, idle] = [place.worktree("empty"), place.worktree("full"), place.worktree("agent-a1")];
    writeFileSync(join(full, "new.txt"), "new\n");
    assert.equal(place.hooked("WorktreeRemove", { worktree_path: empty, cwd: empty }), "");
    assert.equal(existsSync(empty), false);
    const kept = place.hook("WorktreeRemove", { worktree_path: full });
    assert.deepEqual([kept.status, kept.stdout], [0, ""]);
    assert.match(kept.stderr, /^Plan \S+ keeps its work \(1 change\): see 'drydock diff /);
    assert.equal(place.readAt(join(full, "new.txt")), "new\n");

    const mine = place.done("plan", "create", "-r", "app,strategy=git_worktree", "--name", "mine");
    const path = place.done("plan", "path", mine.trimEnd()).trimEnd();
    assert.match(place.hook("WorktreeRemove", { worktree_path: path }).stderr, /nothing was removed/);

    place.hooked("SessionEnd", { reason: "other", session_id: "another" });
    assert.equal(existsSync(idle), true);
    place.hooked("SessionEnd", { reason: "other", cwd: idle });
    assert.equal(existsSync(idle), true);
    place.hooked("SessionEnd", { reason: "other" });
    assert.deepEqual(place.plans(), ["mine", "full"]);
  });

  it("checkpoints the plan about the agent's folder, and does nothing where there is none or several", () => {
    using place = new AgentPlace();
    assert.equal(place.stop(place.app), "");
    place.folder("other", { x: "x" });
    place.done("plan", "create", "-r", "other", "--name", "other");
    place.worktree("of-another-agent");
    place.done("plan", "create", "-r", "app", "--name", "tools");
    place.stop(place.app);
    assert.deepEqual(
      ["tools", "other", "of-another-agent"].map((plan) => place.labels(plan)),
      [["turn 1"], [], []],
    );
    place.done("plan", "create", "-r", "app", "--name", "second");
    const several = place.hook("Stop");
    assert.deepEqual([several.status, several.stdout], [0, ""]);
    assert.match(several.stderr, /^No checkpoint: 2 open plans are about this folder/);
    assert.deepEqual(place.labels("tools"), ["turn 1"]);
    assert.equal(place.hooked("UserPromptSubmit", { prompt: "hello" }), "");
    const inside = place.hook("Stop", {}, { DRYDOCK_PLAN: "01PLAN", DRYDOCK_STATE_DIR: "/nowhere" });
    assert.deepEqual([inside.status, inside.stderr], [0, ""]);
  });

  it("never ends with exit code 2, which would veto what the agent does", () => {
    using place = new AgentPlace();
    const inputs = ["", "{", "[]", '{"cwd":"/"}', '{"cwd":1,"hook_event_name":"Stop"}'];
    for (const input of inputs) {
      const { status, stdout, stderr } = place.drydock(["hook"], { input });
      assert.deepEqual([status, stdout], [1, ""], input);
      assert.match(stderr, /^error: Standard input is no event of an agent: /, input);
    }
    for (const event of ["WorktreeCreate", "WorktreeRemove"])
      assert.match(place.hook(event).stderr, /(?:name|worktree_path) is missing/);
    const file = place.write("file", "no folder");
    assert.equal(place.hook("Stop", {}, { DRYDOCK_STATE_DIR: file }).status, 1);
  });
});
