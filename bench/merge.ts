import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AtomicCommitError, openDrydock } from "../src/index.ts";
import { answer, compare, type Row } from "./answer.ts";
import { home } from "./places.ts";

/**
 * Ten agents work on one folder at the same time, and each lands when it is done. How many land by
 * themselves, and does one overwrite another? The peer is git: the same work on ten branches, merged one
 * after the other.
 */
const AGENTS = 10;
const FILES = 20;
const LINES = 60;
/** How many lines each agent changes. */
const EDITS = 4;
const ROUNDS = 5;

type Edit = { readonly file: string; readonly line: number };

const ours: number[] = [];
const git: number[] = [];
const counts = { ours: 0, git: 0, all: 0 };
for (let round = 0; round < ROUNDS; round += 1) {
  const work = Array.from({ length: AGENTS }, (_, agent) => editsOf(round * AGENTS + agent + 1));
  counts.ours += await landByPlans(join(home, `plans-${round}`), work);
  counts.git += landByGit(join(home, `git-${round}`), work);
  counts.all += AGENTS;
}
const rows: Row[] = [
  compare("apply --update after other agents", ours, "git merge of a branch", git, undefined),
  {
    what: `${AGENTS} agents on one folder land by themselves, in ${ROUNDS} rounds`,
    ours: `${counts.ours} of ${counts.all}`,
    peer: `git merge ${counts.git} of ${counts.all}`,
    ratio: `${(counts.ours / counts.git).toFixed(2)}×`,
    goal: "as many as git, none overwritten",
    verdict: counts.ours === counts.git ? "ok" : "MISSED",
  },
];
answer(rows);

/** The lines that an agent changes, the same in every run. */
function editsOf(seed: number): readonly Edit[] {
  let state = seed * 7_919;
  const below = (most: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % most;
  };
  return Array.from({ length: EDITS }, () => ({ file: `f${below(FILES)}`, line: below(LINES) }));
}

function makeFiles(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const text = Array.from({ length: LINES }, (_, line) => `line ${line}\n`).join("");
  for (let file = 0; file < FILES; file += 1) writeFileSync(join(folder, `f${file}`), text);
}

function edited(text: string, line: number, agent: number): string {
  return text
    .split("\n")
    .map((each, at) => (at === line ? `${each} by agent ${agent}` : each))
    .join("\n");
}

/** Returns how many landed, and fails if the work of one of these is not in the folder. */
async function landByPlans(place: string, work: readonly (readonly Edit[])[]): Promise<number> {
  const folder = join(place, "folder");
  makeFiles(folder);
  await using drydock = await openDrydock({ stateDir: join(place, "state") });
  const plans = await Promise.all(
    work.map(() => drydock.plans.create({ resources: [{ location: folder }] })),
  );
  for (const [agent, edits] of work.entries())
    for (const { file, line } of edits) {
      const plan = plans[agent];
      const text = Buffer.from((await plan?.read(file)) ?? "").toString();
      await plan?.write(file, edited(text, line, agent));
    }
  const landed: number[] = [];
  for (const [agent, plan] of plans.entries()) {
    const begin = performance.now();
    try {
      await plan.apply({ update: true });
      landed.push(agent);
    } catch (thrown) {
      if (!(thrown instanceof AtomicCommitError) || thrown.conflicts.length === 0) throw thrown;
      await plan.cancel();
    }
    ours.push(performance.now() - begin);
  }
  for (const agent of landed)
    for (const { file, line } of work[agent] ?? [])
      if (!readFileSync(join(folder, file), "utf8").split("\n")[line]?.includes(`by agent ${agent}`))
        throw new Error(`The work of agent ${agent} in line ${line} of ${file} was overwritten.`);
  return landed.length;
}

/** The same with branches. Returns how many could be merged. */
function landByGit(folder: string, work: readonly (readonly Edit[])[]): number {
  makeFiles(folder);
  const run = (...args: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: folder });
  run("init", "-q", "-b", "main");
  run("add", "-A");
  run("commit", "-qm", "begin");
  for (const [agent, edits] of work.entries()) {
    run("checkout", "-q", "-b", `agent-${agent}`, "main");
    for (const { file, line } of edits)
      writeFileSync(join(folder, file), edited(readFileSync(join(folder, file), "utf8"), line, agent));
    run("commit", "-qam", `agent ${agent}`);
  }
  run("checkout", "-q", "main");
  let merged = 0;
  for (const agent of work.keys()) {
    const begin = performance.now();
    const args = ["-c", "user.name=a", "-c", "user.email=a@b", "merge", "-q", "--no-edit", `agent-${agent}`];
    const { status } = spawnSync("git", args, { cwd: folder });
    git.push(performance.now() - begin);
    if (status === 0) merged += 1;
    else run("merge", "--abort");
  }
  return merged;
}
