import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { lastError, runProcess } from "../rivals/drydock-process.ts";
import { IS_LONG } from "../support/long-form.ts";
import { Author, type Declaration, TWO_PHASE } from "./author.ts";
import { UNDOABLE } from "./undoable.ts";

const ONE_PHASE_WITH_UNDO = { module: "./undoable.js", class: "Undoable" };
const CASES = [
  ["apply", "two phases", TWO_PHASE],
  ["undo", "two phases", TWO_PHASE],
  ["apply", "one phase with undo", ONE_PHASE_WITH_UNDO],
] as const;

const OLD = ["Old", "old\n"];
const NEW = ["New", "new\n"];

// The documented strategy imports the package; in processes that are started here that has to be the source
// too.
process.env["NODE_OPTIONS"] = `${process.env["NODE_OPTIONS"] ?? ""} --conditions=drydock-source`.trim();

/** A plan over a document with a strategy of one's own and a folder with a built-in one; both have work. */
async function arrange(
  applied: boolean,
  declaration: Declaration = TWO_PHASE,
): Promise<{ readonly author: Author; readonly plan: string }> {
  const author = new Author();
  author.write("undoable.js", UNDOABLE);
  author.declare({ document: declaration });
  const drydock = await author.open();
  const { id: plan } = await drydock.plans.create({
    resources: [{ location: "website" }, { location: "notes" }],
  });
  await drydock.plans.write(plan, "notes", "title", Buffer.from("New"));
  await drydock.plans.write(plan, "website", "index.html", Buffer.from("new\n"));
  if (applied) await drydock.plans.apply(plan);
  await drydock.close();
  return { author, plan };
}

function sides(author: Author): readonly string[] {
  return [JSON.parse(author.text("notes.json")).title, author.text("website/index.html")];
}

function taskOf(author: Author, method: string, plan: string) {
  return {
    stateDir: author.at("state"),
    config: author.at("drydock.yaml"),
    calls: [[method, plan]] as const,
  };
}

/** The failpoints that an operation passes, each with how often. */
async function passesOf(
  method: "apply" | "undo",
  declaration: Declaration,
): Promise<ReadonlyMap<string, number>> {
  const { author, plan } = await arrange(method === "undo", declaration);
  await using _ = author;
  const end = await runProcess(taskOf(author, method, plan), { trace: author.at("trace") });
  assert.equal(end.code, 0, end.stderr);
  assert.deepEqual(sides(author), method === "apply" ? NEW : OLD);
  const passes = new Map<string, number>();
  for (const line of author.text("trace").split("\n").filter(Boolean)) {
    const name = line.slice("failpoint ".length);
    passes.set(name, (passes.get(name) ?? 0) + 1);
  }
  return passes;
}

/**
 * Of the points of the strategy itself the first and the last, and of the records in the journal the one
 * right after the decision.
 */
function chosen(passes: ReadonlyMap<string, number>): readonly string[] {
  if (IS_LONG)
    return [...passes].flatMap(([name, count]) =>
      Array.from({ length: count }, (_, pass) => `${name}:${pass + 1}`),
    );
  const own = [...passes.keys()].filter((name) => name.startsWith("document."));
  const journal = `store.written:${(passes.get("store.written") ?? 0) - 1}`;
  return [...new Set([...own.slice(0, 1), ...own.slice(-1)])].map((name) => `${name}:1`).concat(journal);
}

describe("A crash in a plan of built-in strategies and one's own", () => {
  for (const [method, how, declaration] of CASES)
    it(`[A3] [A7] [A17] in ${method} (${how}) leaves everything old or everything new, and goes on from there`, async (t) => {
      const points = chosen(await passesOf(method, declaration));
      assert.ok(
        points.some((point) => point.startsWith("document.")),
        "the strategy's own points are among them",
      );
      const found = new Set<string>();
      for (const point of points) {
        const { author, plan } = await arrange(method === "undo", declaration);
        await using _ = author;
        const end = await runProcess(taskOf(author, method, plan), { failpoint: `${point}=kill` });
        if (end.signal === null) continue;
        assert.equal(end.signal, "SIGKILL", `${point}: ${end.stderr}`);
        const once = await author.open();
        assert.deepEqual(once.recovery.pending, [], point);
        const after = sides(author);
        const { recovery, plans } = await author.open();
        assert.deepEqual(
          [recovery.finished, recovery.undone, recovery.pending],
          [[], [], []],
          `${point}: a second time`,
        );
        assert.ok(
          [OLD, NEW].some((side) => side.join() === after.join()),
          `${point}: ${after.join()}`,
        );
        found.add(after.join());
        const { state } = await plans.show(plan);
        assert.equal(state === "applied", after.join() === NEW.join(), `${point}: ${state}`);
        if (state === "open") await plans.apply(plan);
        if (state !== "undone") await plans.undo(plan);
        assert.deepEqual(sides(author), OLD, point);
        assert.deepEqual(left(author), [], point);
      }
      assert.equal(found.size, 2, "crashes before and after the decision were met");
      t.diagnostic(`${points.length} points`);
    });

  it("[A1] [A7] an error at every point of the strategy is a failure of the plan, and nothing is changed", async () => {
    for (const point of ["document.stage", "document.staged"]) {
      const { author, plan } = await arrange(false);
      await using _ = author;
      const end = await runProcess(taskOf(author, "apply", plan), { failpoint: `${point}=error` });
      assert.equal(lastError(end).name, "AtomicCommitError", point);
      assert.match(lastError(end).message, /notes: failpoint document/);
      assert.deepEqual(sides(author), OLD);
      const { plans } = await author.open();
      await plans.apply(plan);
      assert.deepEqual(sides(author), NEW);
      assert.deepEqual(left(author), []);
    }
  });
});

/** What a landing would have left beside the document. */
function left(author: Author): readonly string[] {
  return readdirSync(author.path).filter((name) => /^notes\.json\./.test(name));
}
