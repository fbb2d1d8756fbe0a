import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answer, compare, type Row } from "./answer.ts";
import { buildProject } from "./build-project.ts";
import { alternate, runProgram, type Times } from "./measure.ts";
import { imageOrFolder, withPrivateMounts } from "./places.ts";
import { makeTree, text } from "./trees.ts";

/**
 * What does it cost to run a command inside? First the whole of `drydock run -- true` against one start of
 * Node. Then commands that take a while, timed by a program that runs inside and outside.
 *
 * The goal of the first is not reached: it is 4.6 to 5.2 times a bare start (0.1.0: 5.4). Of 125 ms, about 27
 * are the bare start of Node, 18 to load the program and start the launcher, a second Node, which then starts
 * beside; 15 to open the state and load the strategies; 10 to find out whether the kernel mounts overlays
 * here, most of it the kernel's own time to let go of what was tried (root only); 20 to make the plan and
 * prepare the view, with three flushes of the disk; 12 to mount the view and become the shell; 5 for the
 * command and its namespaces; 16 to look for changes and remove the plan, with three more flushes. What is
 * left are system calls and flushes that a promise stands on.
 */
const FILES = 50_000;
const ROUNDS = 7;
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
const folder = join(place.path, "folder");
mkdirSync(folder);

const { ours, floor } = await alternate(25, {
  ours: {
    run: () => {
      runIn(folder, command, "--state-dir", state, "run", "--", "true");
    },
  },
  floor: {
    run: () => {
      runProgram(node, "-e", "0");
    },
  },
});
const rows: Row[] = [compare("drydock run -- true", ours, "node -e 0", floor, { atMost: 3.5 })];
rows.push(inAndOut("npm test of a small project", smallProject(), ["npm", "test"], 1.15));
rows.push(
  inAndOut(
    `git status of ${FILES.toLocaleString("en")} files`,
    checkout(),
    ["git", "status", "--porcelain"],
    3,
  ),
);
answer(rows);

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
  return compare(`${what}, inside`, inside, "outside", outside, { atMost });
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
