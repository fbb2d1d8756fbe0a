import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { OPERATIONS } from "../../src/serve/api.ts";
import { OF_THE_CHANNEL } from "../../src/serve/channel/channel-operations.ts";
import { writeCaller } from "../run/channel-caller.ts";
import { ANY_ACTOR, Stage } from "../run/stage.ts";

/** What a command inside must be able to do, and nothing else. */
const ALLOWED = [
  ...["commentOnPlan", "diffPlan", "listCheckpoints", "patchPlan", "requestReview", "restoreCheckpoint"],
  ...["reviewChanges", "runSql", "saveCheckpoint", "showPlan", "showReview"],
];

/** Every other operation, by its own path and by that of a channel, for the plan and for another one. */
function forbidden(plan: string, other: string): readonly (readonly [string, string])[] {
  return OPERATIONS.filter(({ id }) => !ALLOWED.includes(id)).flatMap(({ method, path }) =>
    [`/v1${path}`, `/v1${path.replace("/plans/{plan}", "/plan")}`].flatMap((way) =>
      [plan, other].map((id) => [method.toUpperCase(), filled(way, id)] as const),
    ),
  );
}

function filled(path: string, plan: string): string {
  return path.replace("{plan}", plan).replaceAll(/\{\w+\}/g, "x");
}

/** Other spellings of paths that lead to an apply, and other ways to say that it is one. */
function tricks(plan: string): readonly (readonly [string, string, object])[] {
  const apply = `/v1/plans/${plan}/apply`;
  const override = { "x-http-method-override": "POST" };
  return [
    ["POST", `/v1/plan/../plans/${plan}/apply`, {}],
    ["POST", `/v1/plan/%2e%2e/plans/${plan}/apply`, {}],
    ["POST", `/v1/plan%2f..%2fplans%2f${plan}%2fapply`, {}],
    ["POST", `/v1//plans/${plan}/apply`, {}],
    ["POST", `//v1/plans/${plan}/apply`, {}],
    ["POST", `/v1/plan/checkpoints/..%2f..%2f..%2fplans%2f${plan}%2fapply/restore`, {}],
    ["POST", `http://localhost${apply}`, {}],
    ["GET", apply, override],
    ["POST", "/v1/plan", override],
    ["POST", "/v1/plan/diff", {}],
    ["DELETE", "/v1/plan", {}],
    ["POST", "/mcp", {}],
    ["GET", "/v1/plan", { host: "example.com" }],
    ["GET", "/v1/plan", { origin: "http://example.com" }],
    ["GET", "/v1/plan/diff?plan=another", {}],
  ];
}

/** A plan over the project, and another plan. */
function plansOf(stage: Stage) {
  const other = stage.folder("other", { "b.txt": "other\n" });
  stage.give();
  return {
    plan: stage.done("plan", "create", "-r", stage.project).trim(),
    other: stage.done("plan", "create", "-r", other).trim(),
  };
}

for (const actor of ANY_ACTOR) {
  describe(`A hostile command of ${actor}`, () => {
    it("[I10] can land, approve or end nothing by its channel, and reaches no other plan", () => {
      using stage = new Stage(actor);
      const { plan, other } = plansOf(stage);
      assert.deepEqual([...OF_THE_CHANNEL].toSorted(), ALLOWED);
      const script = `require("node:fs").writeFileSync("a.txt", "two\\n");
        const [forbidden, tricks] = ${JSON.stringify([forbidden(plan, other), tricks(plan)])};
        const [refused, tricked] = [[], []];
        for (const [method, path] of forbidden) {
          const { status, body } = await ask(method, path, ["POST", "PUT"].includes(method) ? {} : undefined);
          refused.push([status, body.code, body.hint.slice(0, 23)].join(" "));
        }
        for (const [method, path, headers] of tricks)
          tricked.push((await ask(method, path, method === "POST" ? {} : undefined, headers)).status);
        const more = await ask("POST", "/v1/plan/checkpoints", { plan: ${JSON.stringify(other)} });
        return { refused: [...new Set(refused)], tricked, more: more.status };`;
      const said = JSON.parse(stage.done("plan", "exec", plan, "--", ...writeCaller(stage, script)));
      assert.deepEqual(said.refused, ["403 NOT_ALLOWED Ask the person outside."]);
      assert.ok(
        said.tricked.every((status: number) => [400, 403, 404].includes(status)),
        said.tricked.join(),
      );
      assert.equal(said.more, 400);
      assert.equal(stage.read("project/a.txt"), "one\n");
      for (const id of [plan, other]) {
        const { state } = stage.answer("plan", "show", id);
        assert.equal(state, "open");
        const events = stage.answer("plan", "log", id).entries.map(({ event }: { event: string }) => event);
        assert.deepEqual(
          events.filter(
            (event: string) => !["created", "exec started", "executed", "checkpoint"].includes(event),
          ),
          [],
        );
        stage.done("plan", "cancel", id);
      }
    });

    it("[I10] can neither fill nor hold up Drydock by its channel, nor keep it from ending", async () => {
      using stage = new Stage(actor);
      const { plan } = plansOf(stage);
      const script = `const { connect } = require("node:net");
        const { once } = require("node:events");
        const open = () => connect(process.env.DRYDOCK_SOCKET).on("error", () => {});
        const cut = ({ code }) => ({ status: code });
        const large = JSON.stringify({ text: "x".repeat(2 ** 21) });
        const refused = await ask("POST", "/v1/plan/review/comments", large).catch(cut);
        const head = await ask("GET", "/v1/plan", undefined, { "x-long": "x".repeat(2 ** 17) }).catch(cut);
        const many = Array.from({ length: 1000 }, open);
        many.forEach((socket, at) => socket.write(at % 2 === 0 ? "" : "GET /v1/plan HTTP/1.1\\r\\nHost: local"));
        many.forEach((socket) => socket.destroy());
        const piped = open();
        let answers = "";
        piped.on("data", (piece) => (answers += piece));
        piped.write("GET /v1/plan HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n".repeat(2000));
        await once(piped, "close");
        const works = await patiently(() => ask("GET", "/v1/plan"));
        open().write("POST /v1/plan/checkpoints HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 100\\r\\n\\r\\n{");
        open().write("GET /v1/plan/patch HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n");
        console.log(JSON.stringify({ refused: refused.status, head: head.status,
          answers: answers.split("200 OK").length - 1, works: works.status }));
        await once(process.stdin, "data");
        process.exit();
        async function patiently(action) {
          for (let tries = 0; ; tries += 1)
            try { return await action(); } catch (error) {
              if (tries === 200) throw error;
              await new Promise((resolve) => setTimeout(resolve, 50));
            }
        }`;
      const running = stage.start(["plan", "exec", plan, "--", ...writeCaller(stage, script)]);
      await running.until(() => running.stdout.includes("\n"));
      const [, memory = ""] =
        /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${running.pid}/status`, "latin1")) ?? [];
      assert.ok(Number(memory) < 300_000, `Drydock itself had ${memory} kB`);
      running.input("\n");
      const { status, stdout, stderr } = await running.ended();
      assert.deepEqual({ status, stderr }, { status: 0, stderr: "" });
      const { refused, head, answers, works } = JSON.parse(stdout);
      assert.ok([413, "ECONNRESET", "EPIPE"].includes(refused), refused);
      assert.ok([431, "ECONNRESET", "EPIPE"].includes(head), head);
      assert.deepEqual({ answers, works }, { answers: 1, works: 200 });
      stage.done("plan", "cancel", plan);
    });
  });
}
