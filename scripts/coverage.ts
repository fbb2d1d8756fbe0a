import { spawnSync } from "node:child_process";
import { chmodSync, globSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { transformSync } from "esbuild";
import { root } from "./step.ts";
import { prepareMachine } from "./test-machine.ts";
import { findTests, runTests } from "./test-run.ts";

/**
 * `npm run coverage`: runs the tests, counting lines in every process that they start, and fails if less than
 * 97 % of the lines of src/ ran. Commands run from source, whose lines are counted as they stand. A process
 * that is killed reports nothing; that is the point of the tests that kill one, so what only runs there is
 * seen again in the recovery that follows.
 */
const REQUIRED = 97;
const folder = join(root, "coverage");
const raw = join(folder, "raw");

type Summary = Readonly<Record<string, { readonly lines: { readonly pct: number; readonly total: number } }>>;

rmSync(folder, { recursive: true, force: true });
mkdirSync(raw, { recursive: true });
// Processes of other users report, too.
chmodSync(raw, 0o1777);
process.env["NODE_V8_COVERAGE"] = raw;
process.env["DRYDOCK_FROM_SOURCE"] = "1";
prepareMachine();
const failure = await runTests(findTests(process.argv.slice(2)));
delete process.env["NODE_V8_COVERAGE"];

const enough = report();
if (failure !== undefined) console.error(`✖ ${failure}`);
process.exitCode = failure === undefined && enough ? 0 : 1;

function report(): boolean {
  const reporters = ["text-summary", "lcov", "json-summary"].map((name) => `--reporter=${name}`);
  const { status } = spawnSync(
    process.execPath,
    [
      ...["node_modules/c8/bin/c8.js", "report", ...reporters],
      ...["--temp-directory", raw, "--reports-dir", folder, "--merge-async"],
      ...["--all", "--src", "src", "--include", "src/**/*.ts", "--exclude", "**/*.test.ts"],
      ...typeFiles().flatMap((file) => ["--exclude", file]),
    ],
    { cwd: root, stdio: "inherit" },
  );
  if (status !== 0) throw new Error("c8 could not make a report, see above.");
  const { total, ...files } = JSON.parse(
    readFileSync(join(folder, "coverage-summary.json"), "utf8"),
  ) as Summary;
  const poor = Object.entries(files).filter(([, { lines }]) => lines.pct < REQUIRED);
  for (const [file, { lines }] of poor.sort(([, a], [, b]) => a.lines.pct - b.lines.pct)) {
    console.log(`${lines.pct.toFixed(1).padStart(6)} % of ${lines.total} lines: ${relative(root, file)}`);
  }
  const reached = total?.lines.pct ?? 0;
  if (reached < REQUIRED) console.error(`✖ ${reached} % of all lines ran, ${REQUIRED} % are required.`);
  return reached >= REQUIRED;
}

/** Files that hold nothing but types: no process ever loads them, so none of their lines can run. */
function typeFiles(): readonly string[] {
  return globSync("src/**/*.ts", { cwd: root }).filter((file) => {
    const { code } = transformSync(readFileSync(join(root, file), "utf8"), { loader: "ts" });
    return code.trim() === "";
  });
}
