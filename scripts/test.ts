import { runStep, runSteps, type Step } from "./step.ts";
import { prepareMachine } from "./test-machine.ts";
import { findTests, runTests } from "./test-run.ts";

/**
 * `npm test` prepares the machine, builds, checks everything that needs no run, then runs all tests. `npm
 * test -- PART…` runs only the test files with PART in their path, without the checks. Unit tests run from
 * source then. Tests below test/ run the build, as users do, so the script builds first. `npm run test:long`
 * and `npm run test:long -- PART…` do the same in the long form, which tries everything.
 */
const LONG = "--long";
const BUILD: Step = { name: "build", command: [process.execPath, "scripts/build.ts"] };
const CHECKS: readonly Step[] = [
  { name: "lint and format (biome)", command: ["node_modules/.bin/biome", "check", "--error-on-warnings"] },
  { name: "house rules", command: [process.execPath, "scripts/house-rules.ts"] },
  {
    name: "types (tsc)",
    command: [process.execPath, "node_modules/typescript-7/bin/tsc", "-p", "tsconfig.json"],
  },
  {
    name: "types of the page (tsc)",
    command: [process.execPath, "node_modules/typescript-7/bin/tsc", "-p", "page/tsconfig.json"],
  },
  { name: "import rule (dependency-cruiser)", command: [process.execPath, "scripts/layers.ts"] },
  { name: "dead code (knip)", command: [process.execPath, "node_modules/knip/bin/knip.js"] },
  { name: "list of failpoints", command: [process.execPath, "scripts/failpoints.ts", "--check"] },
  { name: "JSON schema of the config", command: [process.execPath, "scripts/config-schema.ts", "--check"] },
  { name: "document of the API", command: [process.execPath, "scripts/api-schema.ts", "--check"] },
];

const problems = await main(process.argv.slice(2));
for (const problem of problems) console.error(`✖ ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;

async function main(args: readonly string[]): Promise<readonly string[]> {
  if (args.includes(LONG)) process.env["DRYDOCK_TEST"] = "long";
  const filters = args.filter((arg) => arg !== LONG);
  const files = findTests(filters);
  if (files.length === 0) return [`No test file has ${filters.join(" or ") || ".test.ts"} in its path.`];
  prepareMachine();
  if (filters.length === 0) return all(files);
  if (files.every((file) => file.startsWith("src/"))) process.env["DRYDOCK_FROM_SOURCE"] = "1";
  else if (!(await runStep(BUILD))) return ["The build failed, so no test was run."];
  return [await runTests(files)].filter((problem) => problem !== undefined);
}

async function all(files: readonly string[]): Promise<readonly string[]> {
  const failed = await runSteps([BUILD, ...CHECKS]);
  const problems = failed.map((name) => `${name} failed, see above.`);
  if (failed.includes(BUILD.name)) return [...problems, "Without a build no test was run."];
  const failure = await runTests(files, { killsAtAll: true });
  return failure === undefined ? problems : [...problems, failure];
}
