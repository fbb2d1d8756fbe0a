import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answer, compare, type Row } from "./answer.ts";
import { buildProject } from "./build-project.ts";
import { alternate, runProgram, type Times } from "./measure.ts";
import { imageOrFolder, withPrivateMounts } from "./places.ts";
import { makeTree, text } from "./trees.ts";

/**
 * What does it cost to be inside? Commands that take a while, timed by a program that runs inside and outside
 * of a plan. How long it takes to get inside is a question of start-up.ts; what a policy adds to that is one
 * of these.
 */
const FILES = 50_000;
const ROUNDS = 7;
const STARTS = 41;
const AGENT_POLICY = `run:
  profile: claude
  read: { deny: [~/private] }
  write: { protect: [deploy] }
  env: { deny: [MY_*], set: { MODE: safe } }
  limits: { time: 1h }
`;
/** Runs a command so many times and prints how long each took. */
const TIMER = `import { spawnSync } from "node:child_process";
const [rounds, ...words] = process.argv.slice(2);
const times = [];
for (let round = -1; round < Number(rounds); round += 1) {
  const start = performance.now();
  const { status } = spawnSync(words[0], words.slice(1), { stdio: "ignore" });
  if (status !== 0) throw new Error(words.join(" ") + " failed");
  if (round >= 0) times.push(performance.now() - start);
}
console.log(JSON.stringify(times.sort((a, b) => a - b)));
`;

withPrivateMounts();
const place = imageOrFolder("ext4");
const project = buildProject();
const command = join(project, "bin/drydock");
const node = join(import.meta.dirname, "../node_modules/node/bin/node");
const state = join(place.path, "state");
const rows: Row[] = [];
rows.push(inAndOut("npm test of a small project", smallProject(), ["npm", "test"], 1.15));
rows.push(
  inAndOut(
    `git status of ${FILES.toLocaleString("en")} files`,
    checkout(),
    ["git", "status", "--porcelain"],
    3,
  ),
);
rows.push(await startWithPolicy());
answer(rows);

/**
 * Starts of a command with the policy of an agent, and without any. What a command without a policy still has
 * of one, and had not before there were policies, is that the sockets in /run are hidden, and a channel.
 */
async function startWithPolicy(): Promise<Row> {
  const folder = join(place.path, "folder");
  mkdirSync(folder);
  writeFileSync(join(folder, "file"), "content\n");
  const start = (name: string, config: string) => {
    const home = join(place.path, name);
    mkdirSync(join(home, ".config/drydock"), { recursive: true });
    mkdirSync(join(home, ".ssh"));
    writeFileSync(join(home, ".config/drydock/config.yaml"), config);
    const run = ["run", "--state-dir", state, "-r", folder, "--discard", "--", "true"];
    return { run: () => runProgram("env", `HOME=${home}`, command, ...run) };
  };
  const { agent, plain } = await alternate(STARTS, {
    agent: start("agent", AGENT_POLICY),
    plain: start("plain", "run: {}\n"),
  });
  return compare("run -- true with the policy of an agent", agent, "with none", plain, {
    atMost: 1.2,
    beyond: "the profile and the policy are read and put together, and each path that they name is a mount",
  });
}

/** Times a command in a folder and in a sandbox of it. Both are run once before, to fill the caches. */
function inAndOut(what: string, path: string, words: readonly string[], atMost: number): Row {
  const timer = join(path, "timer.mjs");
  writeFileSync(timer, TIMER);
  const outside = timesOf(path, node, timer, String(ROUNDS), ...words);
  runIn(
    path,
    command,
    "--state-dir",
    state,
    "plan",
    "create",
    "-r",
    `${path},strategy=overlay`,
    "--name",
    "inside",
  );
  const exec = ["--state-dir", state, "plan", "exec", "inside", "--"];
  const inside = timesOf(path, command, ...exec, node, timer, String(ROUNDS), ...words);
  runIn(path, command, "--state-dir", state, "plan", "cancel", "inside");
  return compare(`${what}, inside`, inside, "outside", outside, {
    atMost,
    beyond: "the overlay looks for each name in two layers and copies a file before its first change",
  });
}

function timesOf(cwd: string, program: string, ...args: readonly string[]): Times {
  return JSON.parse(runIn(cwd, program, ...args)) as Times;
}

function runIn(cwd: string, program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${stderr}`);
  return stdout;
}

function smallProject(): string {
  const path = join(place.path, "small-project");
  mkdirSync(join(path, "test"), { recursive: true });
  writeFileSync(
    join(path, "package.json"),
    JSON.stringify({ type: "module", scripts: { test: `${node} --test` } }),
  );
  for (let at = 0; at < 5; at += 1)
    writeFileSync(
      join(path, "test", `${at}.test.js`),
      `import { test } from "node:test";\nfor (let n = 0; n < 20; n += 1) test("case " + n, () => {});\n`,
    );
  return path;
}

function checkout(): string {
  const path = join(place.path, "checkout");
  makeTree(path, FILES, 50, (at) => text(at, 200));
  const git = ["-C", path, "-c", "user.name=bench", "-c", "user.email=bench@localhost"];
  runProgram("git", ...git, "init", "-q");
  // Else git goes on tidying up in the background.
  runProgram("git", ...git, "config", "gc.auto", "0");
  writeFileSync(join(path, ".gitignore"), "timer.mjs\n");
  runProgram("git", ...git, "add", "-A");
  runProgram("git", ...git, "commit", "-qm", "all");
  return path;
}
