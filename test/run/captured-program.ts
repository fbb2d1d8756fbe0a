import { setTimeout } from "node:timers/promises";
import { openDrydock, type Plan } from "drydock-sandbox";

/**
 * A program that runs commands by the library, over a folder with each of these strategies, and prints what
 * came of them as one JSON document: {@link captured.test.ts} starts it as one user or another.
 */
const [location = "", ...strategies] = process.argv.slice(2);

async function capturedIn(plan: Plan) {
  const script = "cat; echo $WORD >&2; pwd; echo 2 > made; exit 3";
  const exact = await plan.run({
    command: ["sh", "-c", script],
    input: "typed\n",
    cwd: `${location}/sub`,
    environment: { WORD: "from env" },
  });
  const bytes = await plan.run({ command: ["printf", "a\\377\\303\\251"] });
  const much = await plan.run({ command: ["sh", "-c", "yes é | head -c 300000"], maxOutputBytes: 1001 });
  const late = await plan.run({ command: ["sleep", "60"], limits: { time: 100 } });
  const abort = new AbortController();
  void setTimeout(100).then(() => abort.abort());
  const aborted = await plan.run({ command: ["sleep", "60"], signal: abort.signal }).then(
    () => "not aborted",
    ({ code }) => code,
  );
  return {
    exact: { ...exact, stdout: exact.stdout.text, stderr: exact.stderr.text },
    bytes: [bytes.stdout.text, [...bytes.stdout.bytes]],
    much: { text: much.stdout.text, omitted: much.stdout.omitted, truncated: much.truncated },
    late: { exitCode: late.exitCode, signal: late.signal, limit: late.limit },
    aborted,
    spawned: await spawnedIn(plan),
    atTerminal: await atTerminal(plan),
    unread: await unreadUntilItsEnd(plan),
    logged: await loggedIn(plan),
  };
}

/** What the history keeps of the output of each command. */
async function loggedIn(plan: Plan) {
  const { entries } = await plan.log();
  return entries.flatMap((entry) => (entry.event === "executed" ? [entry.details.output] : []));
}

async function spawnedIn(plan: Plan) {
  await using command = await plan.spawn({ command: ["sh", "-c", "read a; echo got $a; exec sleep 60"] });
  command.stdin.write("line\n");
  const [first] = await command.stdout.take(1).toArray();
  command.kill();
  const { exitCode, signal } = await command.wait();
  return { first: String(first), exitCode, signal };
}

async function atTerminal(plan: Plan) {
  const command = await plan.spawn({
    command: ["sh", "-c", "stty size; read a; stty size; cat; tty"],
    terminal: { rows: 30, columns: 100 },
  });
  let shown = "";
  for await (const part of command.stdout) {
    const isFirst = shown === "";
    shown += String(part);
    if (!isFirst) continue;
    command.resize({ rows: 31, columns: 101 });
    command.stdin.write("go\n");
    command.stdin.end("typed\n");
  }
  return { shown, exitCode: (await command.wait()).exitCode };
}

/** More than a stream takes in by itself, so that the rest is still in the pipe when the command ends. */
async function unreadUntilItsEnd(plan: Plan) {
  const script = "head -c 120000 /dev/zero | tr '\\0' x; echo end";
  const command = await plan.spawn({ command: ["sh", "-c", script] });
  const { exitCode } = await command.wait();
  const bytes = Buffer.concat(await command.stdout.toArray());
  return { exitCode, length: bytes.length, end: bytes.toString("latin1", bytes.length - 5) };
}

await using drydock = await openDrydock();
const results: object[] = [];
for (const strategy of strategies) {
  const plan = await drydock.plans.create({ resources: [{ location, strategy }], allowIrreversible: true });
  results.push({ strategy, ...(await capturedIn(plan)) });
  await plan.cancel();
}
console.log(JSON.stringify(results));
